"""The child process for a repository: imports its modules with the GPU stood in for, and compiles its kernels."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import resource
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import to_json
from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.core.whole_file import write_whole
from kernel_pytorch.perf.inspect.child import tell_parent
from kernel_pytorch.perf.inspect.compile_kernel import first_words, resources_of
from kernel_pytorch.perf.inspect.find_kernels import FoundKernel, Parameter, find_kernels, python_files
from kernel_pytorch.perf.inspect.flags import configuration_problem
from kernel_pytorch.perf.inspect.guess import SMALL, USUAL, Sizes, constant, parameter_type
from kernel_pytorch.perf.inspect.kernel_object import kernel_of
from kernel_pytorch.perf.inspect.repository import Answer, UserKernel
from kernel_pytorch.perf.inspect.stand_in import stand_in, triton_target
from kernel_pytorch.perf.inspect.trials import LIMIT_CPU_S, Trial, not_compiled, run_side_by_side
from kernel_pytorch.perf.inspect.view import Configuration

if TYPE_CHECKING:
    from triton import Config, JITFunction

# Tried in this order, where nobody says them: the type behind a pointer, that of an index, and what a flag is.
ASSUMPTIONS = (
    ("bf16", "i64", True),
    ("bf16", "i32", True),
    ("fp32", "i64", True),
    ("bf16", "i64", False),
    ("fp32", "i32", False),
)
Spec = dict[str, dict[str, object]]  # kernel -> parameter -> its type or constant, as the user gives them
USUAL_SIZE = 64  # of a number that a heuristic is computed from


def main() -> int:
    """Exit 0 with an answer in the file, 2 with the reason on standard error."""
    request = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="kpt-inspect-") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            answer = compile_repository(
                Path(request["root"]), gpu_by_alias(request["gpu"]), request["spec"], request["most"]
            )
        except UsageError as error:
            print(f"kpt: {error}", file=sys.stderr)
            return 2
        except Exception:
            traceback.print_exc()
            return 1
        Path(request["answer"]).write_text(to_json(answer), encoding="utf-8")
    return 0


def compile_repository(root: Path, gpu: GPU, spec_path: str, most: int) -> Answer:
    """Every kernel of the repository for one GPU's target."""
    spec = _spec(spec_path)
    stand_in(gpu)
    absent: set[str] = set()
    modules: dict[str, ModuleType | Exception] = {}
    everything = find_kernels(python_files(root))
    for found in everything:
        if found.path not in modules:
            modules[found.path] = _import(Path(found.path), absent)
    with tempfile.TemporaryDirectory(prefix="kpt-inspect-") as folder:
        waiting = [
            Trial(
                found,
                Path(folder) / f"{number}.json",
                tuple(_child(found, modules[found.path], gpu, spec, most, sizes) for sizes in (USUAL, SMALL)),
            )
            for number, found in enumerate(everything)
        ]
        run_side_by_side(waiting, tell_parent)
        kernels = [trial.outcome(gpu) for trial in waiting]
    notes = (f"not installed here, stood in for while importing: {', '.join(sorted(absent))}",) if absent else ()
    return Answer(tuple(kernels), notes)


def _spec(path: str) -> Spec:
    if not path:
        return {}
    try:
        read = json.loads(read_text(Path(path)))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not a spec: {error}") from error
    if not isinstance(read, dict) or not all(isinstance(value, dict) for value in read.values()):
        raise UsageError(f'{path}: expected {{"kernel": {{"parameter": "*fp16" or a constant}}}}')
    return read


class _Anything:
    """Stands for whatever a module that is not installed would give."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> _Anything:
        return self

    def __or__(self, other: object) -> _Anything:  # `Tensor | Absent` in an annotation
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (object,)


def _absent_module(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__path__ = []
    anything = _Anything()
    module.__getattr__ = lambda attribute: anything  # type: ignore[method-assign]
    return module


def _import(path: Path, absent: set[str]) -> ModuleType | Exception:
    """The module of a file, or why it cannot be imported.

    Packages above it are there but not run: they often load a compiled extension."""
    root, parts = path.resolve().parent, [path.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    for depth in range(1, len(parts)):
        name = ".".join(parts[:depth])
        if name not in sys.modules:
            empty = types.ModuleType(name)
            empty.__path__ = [str(root.joinpath(*parts[:depth]))]
            sys.modules[name] = empty
    for _ in range(40):
        try:
            return importlib.import_module(".".join(parts))
        except ModuleNotFoundError as error:
            if not error.name or error.name in sys.modules or error.name.startswith(parts[0] + "."):
                return error
            absent.add(error.name)
            sys.modules[error.name] = _absent_module(error.name)
        except Exception as error:
            return error
    return ImportError(f"{path}: too many modules are missing")


def _child(
    found: FoundKernel, module: ModuleType | Exception, gpu: GPU, spec: Spec, most: int, sizes: Sizes
) -> Callable[[Path], None]:
    def compile_and_write(answer: Path) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_CPU_S, LIMIT_CPU_S))
        for best in _attempts(found, module, gpu, spec.get(found.name, {}), most, sizes):
            write_whole(answer, to_json(best))

    return compile_and_write


def _attempts(
    found: FoundKernel,
    module: ModuleType | Exception,
    gpu: GPU,
    spec: dict[str, object],
    most: int,
    sizes: Sizes = USUAL,
) -> Iterator[UserKernel]:
    """The best attempt so far, each time there is a better one."""
    kernel, why, cause = kernel_of(found, module, spec)
    if kernel is None:
        yield not_compiled(found, gpu, why, cause)
        return
    descriptors = [one.name for one in found.parameters if one.kind == "descriptor" and one.name not in spec]
    if descriptors:
        example = f'{{"{found.name}": {{"{descriptors[0]}": "tensordesc<bf16[64, 64]>"}}}}'
        why = f"{', '.join(descriptors)}: tensor descriptors, whose block shapes the launch decides: --spec {example}"
        yield not_compiled(found, gpu, why, "signature")
        return
    function, configs, heuristics = _unwrapped(kernel)
    best: UserKernel | None = None
    for element, index, flags in ASSUMPTIONS:
        tuned = {name for config in configs for name in config.kwargs}
        signature = _signature(found, heuristics, tuned, spec, sizes)
        made = _with_types(found, function, configs[:most], gpu, signature(element, index, flags))
        if made.failure is None or not made.assumed:
            yield made
            return
        if best is None or (made.fitting, -len(made.failure)) > (best.fitting, -len(best.failure or "")):
            best = made
            yield best


def _unwrapped(kernel: object) -> tuple[JITFunction, list[Config], dict[str, Callable[[dict[str, object]], object]]]:
    """The @triton.jit function under autotune and heuristics, the autotuner's configurations, the heuristics."""
    configs: list[Config] = []
    heuristics: dict[str, Callable[[dict[str, object]], object]] = {}
    while hasattr(kernel, "fn") and type(kernel).__name__ != "JITFunction":
        configs = list(getattr(kernel, "configs", [])) or configs
        values = getattr(kernel, "values", None)
        heuristics.update(values if isinstance(values, dict) else {})
        kernel = kernel.fn
    return kernel, configs, heuristics


@dataclass(frozen=True)
class Signature:
    """Types and constants a kernel is compiled with, and those of them that are assumed."""

    types: dict[str, str]
    constants: dict[str, object]
    assumed: dict[str, str]


def _signature(
    found: FoundKernel,
    heuristics: dict[str, Callable[[dict[str, object]], object]],
    tuned: set[str],
    spec: dict[str, object],
    sizes: Sizes,
) -> Callable[[str, str, bool], Signature]:
    def with_assumptions(element: str, index: str, flags: bool) -> Signature:
        types: dict[str, str] = {}
        constants: dict[str, object] = {}
        assumed: dict[str, str] = {}
        for parameter in found.parameters:
            name, said = parameter.name, spec.get(parameter.name)
            if parameter.kind == "constexpr" or (said is not None and not isinstance(said, str)):
                types[name] = "constexpr"
                if said is not None:
                    constants[name] = _constant_of(said)
                elif name not in tuned and name not in heuristics:
                    value = parameter.value if parameter.known else constant(parameter, found, flags, sizes)
                    constants[name] = _constant_of(value)
                    if not parameter.known:
                        assumed[name] = str(value)
            elif isinstance(said, str):
                types[name] = said
            else:
                types[name] = parameter_type(parameter, element, index)
                assumed[name] = types[name]
        given = {**{name: _stand_in_value(text) for name, text in types.items()}, **constants}
        for name, rule in heuristics.items():
            if name not in constants and name not in tuned:
                constants[name] = _decided(rule, given, constant(Parameter(name, "constexpr"), found, flags, sizes))
                assumed[name] = str(constants[name])
        return Signature(types, constants, assumed)

    return with_assumptions


def _constant_of(value: object) -> object:
    """A type is passed to a kernel as one of Triton's."""
    if isinstance(value, str) and (value == "float32" or value.startswith("torch.")):
        return getattr(importlib.import_module("triton.language"), value.removeprefix("torch."), value)
    return value


def _stand_in_value(text: str) -> object:
    """What a heuristic may look at: whether a tensor is there, or a size."""
    if text.startswith("*"):
        return _Anything()
    return 1.0 if text.startswith("fp") else USUAL_SIZE


def _decided(rule: Callable[[dict[str, object]], object], given: dict[str, object], otherwise: object) -> object:
    try:
        value = rule(given)
    except Exception:  # the repository's own function, on values that only stand in
        return otherwise
    return otherwise if isinstance(value, _Anything) else value


def _with_types(
    found: FoundKernel, function: JITFunction, configs: list[Config], gpu: GPU, signature: Signature
) -> UserKernel:
    import triton

    tried = []
    options = configs or [triton.Config({}, num_warps=found.num_warps or 4)]
    for config in options:
        tried.append(_build(function, signature.types, {**signature.constants, **config.kwargs}, config, gpu))
        if tried[0].failure and "CompilationError" in tried[0].failure:
            break  # the source itself is refused: no other block size will help
    problems = [configuration_problem(one, gpu.target) for one in tried]
    fatal = [one[1] for one in problems if one is not None and one[0] != "spills"]
    fitting = len(tried) - len(fatal)
    failure = fatal[0] if not fitting else None
    cause = ""
    if failure is not None:
        cause = "compiler" if tried[0].failure else "does not fit"
        if cause == "compiler" and re.search(r"CompilationError|AssertionError|TypeError|ValueError|KeyError", failure):
            cause = "signature" if signature.assumed else "compiler"
    types, assumed = signature.types, signature.assumed
    where = (gpu.target.name, found.path, found.line, found.name)
    return UserKernel(*where, types, assumed, tuple(tried), fitting, failure, cause)


def _build(
    function: JITFunction, signature: dict[str, str], constants: dict[str, object], config: Config, gpu: GPU
) -> Configuration:
    import triton
    import triton.compiler as compiler

    name = " ".join([*(f"{key}={value}" for key, value in config.kwargs.items()), f"num_warps={config.num_warps}"])
    # Parameters the source gives as None or as a constant value become constants of the kernel.
    types_only = {key: "constexpr" if key in constants else value for key, value in signature.items()}
    places = {(function.arg_names.index(key),): value for key, value in constants.items() if key in function.arg_names}
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    try:
        source = compiler.ASTSource(function, types_only, constexprs=places)
        built = triton.compile(source, target=triton_target(gpu), options=options)
        resources = resources_of(built, gpu)
    except Exception as error:  # Triton raises many types; all say why in words
        return Configuration(name, config.num_warps, config.num_stages, None, _compiler_words(error))
    return Configuration(name, config.num_warps, config.num_stages, resources)


def _compiler_words(error: BaseException) -> str:
    """Triton puts the source line first and the reason last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not re.match(r"^[\s^~]+$", line)]
    if not lines:
        return first_words(error)
    cause = error.__cause__
    reason = f"{lines[-1]} ({cause})" if cause is not None and str(cause) not in lines[-1] else lines[-1]
    return f"{type(error).__name__}: {lines[0][:80]} ... {reason}"[:400]


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main())
