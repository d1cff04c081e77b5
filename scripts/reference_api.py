"""docs/api.md from docstrings, read as text: nothing is imported, so building it needs no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"

# Title, and what to show: "module" for the names in its __all__, or "module: name, name".
SECTIONS = (
    ("Porting and checking a project", (
        "kernel_pytorch.jobs.port: port, PortResult",
        "kernel_pytorch.jobs.scan: scan, ScanResult",
        "kernel_pytorch.jobs.verify: verify, Verification, check_isolation, IsolationCheck",
        "kernel_pytorch.jobs.hipify: hipify_file, hipify_tree, HipifyResult",
    )),
    ("Choosing a back end", ("kernel_pytorch.backends: get_backend",)),
    ("Back ends", (
        "kernel_pytorch.backends.device_backend: DeviceBackend",
        "kernel_pytorch.backends.amd.backend: AMDBackend",
        "kernel_pytorch.backends.nvidia.backend: NVIDIABackend",
        "kernel_pytorch.backends.cpu: CPUBackend",
        "kernel_pytorch.models.precision: Precision",
    )),
    ("Optimising", (
        "kernel_pytorch.backends.amd.optimizer: AMDOptimizer",
        "kernel_pytorch.perf.ladder.optimize: optimize, Optimized",
    )),
    ("Compiling and launching kernels", (
        "kernel_pytorch.backends.amd.rocm_compiler: ROCmCompiler",
        "kernel_pytorch.backends.amd.compiled_kernel: CompiledKernel",
        "kernel_pytorch.backends.nvidia.nvrtc: compile_cuda, CudaKernel",
    )),
    ("Memory", ("kernel_pytorch.backends.amd.memory_manager: AMDMemoryManager",)),
    ("Streams and profiling", ("kernel_pytorch.backends.amd.hip_utilities: HIPUtilities",)),
    ("Graphs", (
        "kernel_pytorch.backends.graphs: capture, CapturedFunction, GraphCaptureError",
        "kernel_pytorch.backends.graph_inputs: Buckets",
        "kernel_pytorch.backends.graph_recorder: GraphPool",
    )),
    ("Checkpoints", ("kernel_pytorch.backends.checkpoints: portable_state_dict, load_portable_state_dict, adapt_fp8",)),
    ("Several GPUs", ("kernel_pytorch.backends.distributed: joined, join, leave, Job, DistributedError",)),
    ("Configuration", (
        "kernel_pytorch.core.config: AMDConfig, KernelPyTorchConfig",
        "kernel_pytorch.core.config_sources: load_config",
        "kernel_pytorch.core.architecture: AMDArchitecture",
    )),
    ("Hardware and platform", (
        "kernel_pytorch.core.hardware: target, targets, gpus, gpu_by_alias, find_gpu, Target, GPU, GPUMatch",
        "kernel_pytorch.core.platform: detect, is_rocm, using, Platform",
        "kernel_pytorch.core.stand_in: stand_in",
    )),
    ("Building and reading code objects", (
        "kernel_pytorch.toolchain.find: find_toolchain",
        "kernel_pytorch.toolchain.compile: compile_device, compile_device_text, CompileOptions, CompileFailed",
        "kernel_pytorch.toolchain.code_object: read_code_objects, CodeObject, KernelResources",
        "kernel_pytorch.toolchain.occupancy: occupancy, Occupancy",
    )),
    ("Emulating", (
        "kernel_pytorch.jobs.emulate: emulate, EmulationResult",
        "kernel_pytorch.jobs.emulate_source: emulate_source",
        "kernel_pytorch.jobs.program_build: ProgramBuild",
        "kernel_pytorch.emulate.launch: launch",
        "kernel_pytorch.emulate.device: EmulatedDevice, EmulatedKernelFault",
        "kernel_pytorch.emulate.triton_launch: launch_triton",
    )),
    ("Errors", (
        "kernel_pytorch.core.errors: AMDBackendError, ROCmNotAvailableError, AMDDeviceError, HIPCompilationError, "
        "ROCmMemoryError, MatrixCoreError, AMDOptimizationError, AMDConfigurationError, UsageError",
    )),
)  # fmt: skip

HEAD = """\
# The Python API

Generated from docstrings by `make docs`. The guides say how the parts are used: [back ends](backends.md),
[compiling kernels](compiler.md), [optimising](optimize.md), [configuration](configuration.md).
`kernel_pytorch.backends.amd` exports {amd}; `kernel_pytorch.backends.nvidia` exports {nvidia}.
`kernel_pytorch.backends.amd.amd_exceptions` has the errors.
`from kernel_pytorch import scan, port, emulate, verify, optimize` works too.
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Named:
    """A public name and where it is defined."""

    module: str
    node: Function | ast.ClassDef


def page() -> str:
    """The page."""
    head = HEAD.format(amd=_exports("kernel_pytorch.backends.amd"), nvidia=_exports("kernel_pytorch.backends.nvidia"))
    parts = [head]
    for title, wanted in SECTIONS:
        parts.append(f"## {title}\n")
        for entry in wanted:
            module, _, names = entry.partition(": ")
            parts += [_entry(_find(module, name.strip())) for name in names.split(",")]
    return "\n".join(parts).rstrip() + "\n"


def _path(module: str) -> Path:
    base = SOURCE.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _find(module: str, name: str) -> Named:
    for node in ast.parse(_path(module).read_text(encoding="utf-8")).body:
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return Named(module, node)
    raise SystemExit(f"{module} defines no {name}: change SECTIONS in {Path(__file__).name}")


def _exports(module: str) -> str:
    for node in ast.parse(_path(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ", ".join(f"`{name}`" for name in ast.literal_eval(node.value))
    raise SystemExit(f"{module} has no __all__")


def _entry(named: Named) -> str:
    node = named.node
    lines = [f"### {node.name}", "", f"`{named.module}`", ""]
    if isinstance(node, ast.ClassDef):
        lines += [f"```text\n{_class_line(node)}\n```", "", _text(node)]
        for member in _members(node):
            lines.append(f"- `{_inline(member)}`: {_first_line(member)}")
    else:
        lines += [f"```text\n{_signature(node)}\n```", "", _text(node)]
    return "\n".join(lines).rstrip() + "\n"


def _text(node: Function | ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return f"{text}\n"


def _first_line(node: Function) -> str:
    return (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")


def _members(node: ast.ClassDef) -> Iterator[Function]:
    """Public methods with something to say; what a docstring does not explain, the class's own does."""
    for member in node.body:
        if isinstance(member, Function) and not member.name.startswith("_") and ast.get_docstring(member):
            yield member


def _class_line(node: ast.ClassDef) -> str:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    head = f"class {node.name}({bases})" if bases else f"class {node.name}"
    made_by = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if made_by is not None:
        return (
            _signature(made_by)
            .replace("__init__(self, ", f"{head}\n{node.name}(")
            .replace("__init__(self)", f"{head}\n{node.name}()")
            .removesuffix(" -> None")
        )
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    shown = [f"    {ast.unparse(one)}" for one in fields if not ast.unparse(one.target).startswith("_")]
    return "\n".join([head, *shown])


def _signature(node: Function) -> str:
    decorators = {ast.unparse(one) for one in node.decorator_list}
    if "property" in decorators:
        return f"{node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
    text = f"{node.name}({ast.unparse(node.args)})"
    if node.returns is not None:
        text += f" -> {ast.unparse(node.returns)}"
    if len(text) <= 110:
        return text
    inside = ",\n    ".join(_arguments(node.args))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{node.name}(\n    {inside},\n){returns}"


def _inline(node: Function) -> str:
    """The signature on one line, without self."""
    text = " ".join(_signature(node).split()).replace("( ", "(").replace(", )", ")")
    return text.replace("(self, ", "(", 1).replace("(self)", "()", 1)


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    first = len(plain) - len(arguments.defaults)
    for index, one in enumerate(plain):
        default = f" = {ast.unparse(arguments.defaults[index - first])}" if index >= first else ""
        yield ast.unparse(one) + default
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield ast.unparse(one) + (f" = {ast.unparse(value)}" if value is not None else "")
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"
