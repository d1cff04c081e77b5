"""Extensions that Python code builds when it runs: `cpp_extension.load` and `load_inline`. Used by the worker only.

A call is reached by importing its file, by calling the function around it where that needs no arguments, or else by
evaluating the call alone among the names of the file. torch writes its build file as usual; nothing is built.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import shlex
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.source import source_file

CALLS = ("torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline")


def build_calls(path: str, data: bytes) -> tuple[PythonModule, tuple[ast.Call, ...]] | None:
    """The calls of a file that build an extension; None where there are none."""
    if b"cpp_extension" not in data:
        return None
    module = python_module(source_file(path, data))
    found = tuple(module.calls(*CALLS)) if module is not None else ()
    return (module, found) if module is not None and found else None


class _Anything(types.ModuleType):
    """What a build returns here: a module whose functions do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_keywords: _Anything(name)


def stop_before_building(note: Callable[[str, list[tuple[str, list[str]]]], None]) -> None:
    """torch's builds end with their build file. `note` gets the name and (source, command) of each."""
    from torch.utils import cpp_extension

    def read_build_file(build_directory: str, *_arguments: Any, **_keywords: Any) -> None:
        lines = (Path(build_directory) / "build.ninja").read_text().splitlines()
        note(Path(build_directory).name, list(_commands(lines)))

    cpp_extension._run_ninja_build = read_build_file
    cpp_extension.verify_ninja_availability = lambda: None
    cpp_extension.get_compiler_abi_compatibility_and_version = lambda _compiler: (True, None)
    cpp_extension._import_module_from_library = lambda name, _path, _is_module: sys.modules.setdefault(
        name, _Anything(name)
    )


def _commands(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    values = {name.strip(): value.strip() for name, found, value in (line.partition("=") for line in lines) if found}
    for line in lines:
        words = line.replace("$ ", "\0").replace("$:", ":").split()
        if words[:1] != ["build"] or len(words) < 4 or words[2] not in ("compile", "cuda_compile"):
            continue
        source = words[3].replace("\0", " ")
        compiler, flags = ("nvcc", "cuda_cflags") if words[2] == "cuda_compile" else ("cxx", "cflags")
        text = values.get(flags, "").replace("$$", "$")
        yield source, [values.get(compiler, compiler), *shlex.split(text), "-c", source]


def reach_calls(file: Path, tree: Path, reached: Callable[[], int]) -> list[str]:
    """Make every build call of a file happen. Returns a sentence for each that could not; raises if none could.

    `reached` says how many builds were noted so far.
    """
    found = build_calls(file.name, file.read_bytes())
    assert found is not None
    module, calls = found
    at_import = [call for call in calls if _function(module, call) is None]
    later = [call for call in calls if call not in at_import]
    name = _put_on_path(file, tree)
    first = reached()
    try:
        loaded = importlib.import_module(name)
    except Exception as error:
        if reached() == first:
            raise
        # What comes behind a build has nothing to go on: nothing was built.
        why = f"not reached, since {name} stops behind another build: {type(error).__name__}: {error}"
        return [f"line {call.lineno}: {why}" for call in calls[reached() - first :]]
    missed = [f"line {call.lineno}: not reached when {name} is imported" for call in at_import[reached() - first :]]
    if reached() - first >= len(calls):
        later = []  # the module calls its own functions when it is imported
    errors: list[Exception] = []
    for call in later:
        before = reached()
        try:
            _reach(module, call, loaded)
        except Exception as error:
            errors.append(error)
        if reached() == before:
            why = f"{type(errors[-1]).__name__}: {errors[-1]}" if errors else "its function does not build"
            missed.append(f"line {call.lineno}: {why}")
    if errors and reached() == first:
        raise errors[0]
    return missed


def _reach(module: PythonModule, call: ast.Call, loaded: types.ModuleType) -> None:
    function = _function(module, call)
    inner = getattr(loaded, function.name, None) if isinstance(function, ast.FunctionDef) else None
    if callable(inner) and _needs_nothing(inner):
        inner()
    else:
        expression = ast.Expression(call)
        eval(compile(ast.fix_missing_locations(expression), str(loaded.__file__), "eval"), vars(loaded))


def _needs_nothing(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    open_kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(one.default is not one.empty or one.kind in open_kinds for one in parameters)


def _function(module: PythonModule, call: ast.Call) -> ast.AST | None:
    """What a call is inside of that does not run at import; a class body runs."""
    outer = [
        one for one in module.parents(call) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    ]
    return outer[-1] if outer else None


def _put_on_path(file: Path, tree: Path) -> str:
    """The dotted name of a file, its package's folder and the project's on the path."""
    parts = [file.stem] if file.stem != "__init__" else []
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != tree:
        parts.insert(0, folder.name)
        folder = folder.parent
    sys.path[:0] = [str(one) for one in dict.fromkeys((folder, tree, tree / "src"))]
    return ".".join(parts)
