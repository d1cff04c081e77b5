"""Runs a `@triton.jit` kernel, compiled for an AMD GPU, on the emulated one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.emulate.device import EmulatedDevice, TensorMemory
from kernel_pytorch.emulate.events import Events
from kernel_pytorch.emulate.run import RunSettings

_NUMPY_TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "bool": "i1",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}


@dataclass(frozen=True)
class TritonCode:
    """A Triton kernel compiled for one AMD target. `parameters` are the names of the run-time arguments in order."""

    symbol: str
    code_object: bytes
    assembly: str
    threads: int
    shared_bytes: int
    parameters: tuple[str, ...]


def launch_triton(
    kernel: Any,
    grid: Any,
    *args: Any,
    gpu: GPU | str = "mi300x",
    num_warps: int = 4,
    num_stages: int = 2,
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    device: EmulatedDevice | None = None,
    **meta: Any,
) -> Events:
    """Compile a Triton kernel for the GPU's target and run it; arrays and CPU tensors are updated in place.

    `args` are the kernel's arguments in order; `tl.constexpr` parameters may be given by name. `grid` is a tuple, or a
    function of the constexprs as Triton takes it.
    """
    chosen = device.gpu if device is not None else (gpu_to_emulate(gpu) if isinstance(gpu, str) else gpu)
    values = bound_arguments(kernel, args, meta)
    code = compile_triton(kernel, values, chosen, num_warps, num_stages)
    constants = {name: values[name] for name in kernel.arg_names if name not in code.parameters}
    size = grid(constants) if callable(grid) else grid
    run_time = [kernel_memory(values[name]) for name in code.parameters]
    if device is not None:
        return _run(device, code, size, run_time)
    with EmulatedDevice(chosen, settings) as own:
        return _run(own, code, size, run_time)


def is_triton(kernel: Any) -> bool:
    """Whether this is a `@triton.jit` function."""
    return callable(getattr(kernel, "fn", None)) and hasattr(kernel, "arg_names") and hasattr(kernel, "params")


def kernel_memory(value: Any) -> Any:
    """A tensor as the place in memory that Triton passes, whatever its strides; anything else as it is."""
    return TensorMemory(value) if hasattr(value, "untyped_storage") else value


def bound_arguments(kernel: Any, args: tuple[Any, ...], meta: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter's value by name; defaults of the function are filled in."""
    import inspect

    try:
        bound = inspect.signature(kernel.fn).bind(*args, **meta)
    except TypeError as error:
        raise UsageError(f"{kernel.fn.__name__}: {error}") from error
    bound.apply_defaults()
    return dict(bound.arguments)


def compile_triton(
    kernel: Any, values: Mapping[str, Any], gpu: GPU, num_warps: int = 4, num_stages: int = 2
) -> TritonCode:
    """Triton's own compiler for this target, on this machine. Raises UsageError with its words where it refuses."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    constant = {name for name, parameter in zip(kernel.arg_names, kernel.params, strict=True) if parameter.is_constexpr}
    constant |= {name for name, value in values.items() if value is None}
    signature = {name: "constexpr" if name in constant else _type(name, values[name]) for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): values[name] for name in constant}
    target = GPUTarget("hip", gpu.target.name, gpu.target.wave_size)
    source = ASTSource(kernel, signature, constexprs=places)
    try:
        built = triton.compile(source, target=target, options={"num_warps": num_warps, "num_stages": num_stages})
    except Exception as error:  # Triton raises many types; all say why in words
        raise UsageError(f"{kernel.fn.__name__} does not compile for {gpu.target.name}: {error}") from error
    names = tuple(name for name in kernel.arg_names if name not in constant)
    threads = built.metadata.num_warps * gpu.target.wave_size
    return TritonCode(
        built.metadata.name, built.asm["hsaco"], built.asm["amdgcn"], threads, built.metadata.shared, names
    )


def _run(device: EmulatedDevice, code: TritonCode, grid: Any, values: list[Any]) -> Events:
    loaded = device.load(code.code_object, code.symbol, code.assembly)
    # Triton adds pointers to scratch memory that the kernels of this version do not use unless asked.
    spare = [None] * (len(loaded.parameters) - len(values))
    # Triton's launcher gives the LDS a kernel uses at launch; the code object does not hold it.
    missing = max(code.shared_bytes - loaded.resources.lds_bytes, 0)
    return loaded.launch(grid, code.threads, *values, *spare, shared_bytes=missing)


def _type(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "fp32"
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if dtype not in _NUMPY_TYPES:
        raise UsageError(f"{name}: {type(value).__name__} {dtype} cannot be a Triton argument")
    is_memory = getattr(value, "ndim", 0) > 0 or hasattr(value, "untyped_storage")
    return f"*{_NUMPY_TYPES[dtype]}" if is_memory else _NUMPY_TYPES[dtype]
