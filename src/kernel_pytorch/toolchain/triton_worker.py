"""Compiles one Triton kernel for AMD targets. Run as a process of its own: it imports the user's module.

    python -m kernel_pytorch.toolchain.triton_worker REQUEST.json RESULT_DIRECTORY

Writes `answer.json`, and per target `ARCH.hsaco` and `ARCH.s`. Talk of the user's module goes to standard error.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from kernel_pytorch.core.optional_packages import pip_install


class RequestError(Exception):
    """A mistake in what was asked for, to be shown without a traceback."""


def main(request_path: str, directory: str) -> int:
    """Answer one request."""
    # Whatever the user's module prints must not be taken for data.
    os.dup2(2, 1)
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    results = Path(directory)
    try:
        answer = _answer(request, results)
    except RequestError as error:
        answer = {"usage_error": str(error)}
    (results / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    return 0


def _answer(request: dict[str, Any], results: Path) -> dict[str, Any]:
    try:
        import triton
    except ImportError as error:
        raise RequestError(f"triton cannot be imported ({error}). To get it: {pip_install('toolchain')}") from error
    function = _kernel(_load(Path(request["file"])), request)
    signature, constexprs, attributes = _types(function, request)
    builds = [_build(function, signature, constexprs, attributes, request, one, results) for one in request["targets"]]
    return {"triton": triton.__version__, "builds": builds}


def _load(path: Path) -> Any:
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise RequestError(f"{path}: cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # the user's module may raise or exit as it likes: all of it is the answer
        frame = next((f for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == str(path)), None)
        where = f":{frame.lineno}" if frame else ""
        raise RequestError(f"{path}{where}: cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _kernel(module: Any, request: dict[str, Any]) -> Any:
    from triton.runtime.jit import JITFunction

    name = request["kernel"]
    found = {key: one for key, value in vars(module).items() if (one := _unwrapped(value, JITFunction)) is not None}
    if name in found:
        return found[name]
    file = request["file"]
    if hasattr(module, name):
        raise RequestError(f"{file}: {name} is not a @triton.jit function but {type(getattr(module, name)).__name__}")
    near = difflib.get_close_matches(name, found, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(found)}" if found else "; it has none"
    raise RequestError(f"{file}: no @triton.jit function {name}{hint}")


def _unwrapped(value: Any, wanted: type) -> Any:
    # @triton.autotune and @triton.heuristics wrap the function in objects with an `fn`.
    for _ in range(8):
        if isinstance(value, wanted):
            return value
        value = getattr(value, "fn", None)
    return None


def _types(function: Any, request: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any], dict[Any, Any]]:
    constexprs = dict(request["constexprs"])
    names = [parameter.name for parameter in function.params]
    unknown = [name for name in constexprs if name not in names]
    if unknown:
        raise RequestError(f"--constexpr {unknown[0]}: {function.__name__} takes {', '.join(names)}")
    missing = [p.name for p in function.params if p.is_constexpr and p.name not in constexprs and not p.has_default]
    if missing:
        raise RequestError(
            f"{function.__name__} needs a value for {', '.join(missing)}: --constexpr {missing[0]}=VALUE"
        )
    for parameter in function.params:
        if parameter.is_constexpr and parameter.name not in constexprs:
            constexprs[parameter.name] = parameter.default
    runtime = [name for name in names if name not in constexprs]
    types = request["signature"]
    if len(types) != len(runtime):
        raise RequestError(
            f"--signature has {len(types)} types, {function.__name__} has {len(runtime)} run-time parameters: "
            f"{', '.join(runtime) or 'none'}"
        )
    given = dict(zip(runtime, types, strict=True))
    signature = {name: given[name].partition(":")[0] if name in given else "constexpr" for name in names}
    attributes = {
        (index,): [["tt.divisibility", int(given[name].partition(":")[2])]]
        for index, name in enumerate(names)
        if name in given and ":" in given[name]
    }
    return signature, constexprs, attributes


def _build(
    function: Any,
    signature: dict[str, str],
    constexprs: dict[str, Any],
    attributes: dict[Any, Any],
    request: dict[str, Any],
    one: dict[str, Any],
    results: Path,
) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    architecture = one["arch"]
    try:
        source = ASTSource(function, signature=signature, constexprs=constexprs, attrs=attributes)
        options = {key: value for key, value in request["options"].items() if value is not None}
        built = triton.compile(source, target=GPUTarget("hip", architecture, one["wave_size"]), options=options)
    except Exception as error:
        return {"arch": architecture, "error": _message(error, function, request["file"])}
    (results / f"{architecture}.hsaco").write_bytes(built.asm["hsaco"])
    (results / f"{architecture}.s").write_text(built.asm["amdgcn"], encoding="utf-8")
    return {
        "arch": architecture,
        "shared": int(getattr(built.metadata, "shared", 0)),
        "num_warps": int(built.metadata.num_warps),
    }


def _message(error: Exception, function: Any, file: str) -> dict[str, Any]:
    """Triton's complaint, placed in the user's file where Triton says which node it is about."""
    node: Any = getattr(error, "node", None)
    line = getattr(node, "lineno", None)
    text = str(getattr(error, "error_message", None) or error or type(error).__name__)
    if line is None:
        return {"path": None, "line": 0, "column": 0, "text": f"{file}: {type(error).__name__}: {text}"}
    # Triton counts from the `def`; the function's own first line is that of its first decorator.
    decorators = next((i for i, text in enumerate(function.raw_src) if text.lstrip().startswith("def ")), 0)
    first = int(function.starting_line_number) + decorators
    return {"path": file, "line": first + int(line) - 1, "column": int(node.col_offset) + 1, "text": text}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
