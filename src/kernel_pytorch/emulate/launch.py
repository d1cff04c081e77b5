"""`launch(kernel, grid, block, *arrays)`: run one kernel on an emulated AMD GPU from Python.

import numpy
from kernel_pytorch.emulate.launch import launch

x = numpy.arange(256, dtype=numpy.float32)
launch("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }", 1, 256, x, gpu="mi300x")
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.emulate.device import EmulatedDevice, EmulatedKernel
from kernel_pytorch.emulate.events import Events
from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.triton_launch import is_triton, launch_triton
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code, build_device_code_text

_OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)
_HEADER = "#include <hip/hip_runtime.h>\n#line 1\n"


def launch(
    kernel: Any,
    grid: Any,
    block: Any,
    *args: Any,
    gpu: GPU | str = "mi300x",
    name: str | None = None,
    shared_bytes: int = 0,
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    options: CompileOptions | None = None,
    **constants: Any,
) -> Events:
    """Run a kernel once on an emulated GPU; arrays and CPU tensors among `args` are updated in place.

    `kernel` is HIP source (text, or the Path of a file), a `DeviceCode`, an object with `binary` and `architecture`
    such as a `CompiledKernel`, a code object's bytes, or a `@triton.jit` function, whose `tl.constexpr` parameters are
    given by name (`constants`). `name` picks one of several kernels. Raises EmulatedKernelFault when the kernel faults,
    CompileFailed when the source does not compile.
    """
    with EmulatedDevice(gpu, settings) as device:
        return launch_on(
            device, kernel, grid, block, *args, name=name, shared_bytes=shared_bytes, options=options, **constants
        )


def launch_on(
    device: EmulatedDevice,
    kernel: Any,
    grid: Any,
    block: Any,
    *args: Any,
    name: str | None = None,
    shared_bytes: int = 0,
    options: CompileOptions | None = None,
    **constants: Any,
) -> Events:
    """What `launch` does, on a device that is there already."""
    if is_triton(kernel):
        return launch_triton(kernel, grid, *args, device=device, num_warps=_waves(block, device.gpu), **constants)
    if constants:
        raise UsageError(f"{next(iter(constants))}= is for Triton kernels; the others get their arguments in order")
    return load(device, kernel, name, options).launch(grid, block, *args, shared_bytes=shared_bytes)


def _waves(block: Any, gpu: GPU) -> int:
    """Triton counts waves (num_warps) where others count threads."""
    threads = block if isinstance(block, int) else math.prod(block)
    wave = gpu.target.wave_size
    if threads < wave or threads % wave or (threads // wave) & (threads // wave - 1):
        raise UsageError(f"block {block}: a Triton kernel takes 1, 2, 4 ... waves of {wave} threads on {gpu.name}")
    return int(threads // wave)


def load(
    device: EmulatedDevice, kernel: Any, name: str | None = None, options: CompileOptions | None = None
) -> EmulatedKernel:
    """A kernel, in any of the forms that `launch` takes, on a device."""
    code = device_code(kernel, device.gpu, options)
    return device.load(code.code_object, name, code.assembly)


@dataclass(frozen=True)
class _Code:
    code_object: bytes
    assembly: str | None


@functools.lru_cache(maxsize=64)
def _compiled(text: str, target: str, toolchain: Toolchain, options: CompileOptions | None) -> _Code:
    """A text compiled, once for all launches of it."""
    built = build_device_code_text(text, target, toolchain, options)
    return _Code(built.code_object, built.assembly)


def device_code(kernel: Any, gpu: GPU | str, options: CompileOptions | None = None) -> _Code:
    """The machine code of a kernel for a GPU, compiled where it is source."""
    gpu = gpu_to_emulate(gpu) if isinstance(gpu, str) else gpu
    if isinstance(kernel, DeviceCode):
        return _Code(kernel.code_object, kernel.assembly)
    if isinstance(kernel, Path):
        built = build_device_code(kernel, gpu.target.name, find_toolchain(), options)
        return _Code(built.code_object, built.assembly)
    if isinstance(kernel, str):
        text = kernel if "hip_runtime.h" in kernel else _HEADER + kernel
        # Files of the user's may change from one call to the next.
        reads_files = _OWN_INCLUDE.search(text) or (options is not None and options.include_dirs)
        build = _compiled.__wrapped__ if reads_files else _compiled
        return build(text, gpu.target.name, find_toolchain(), options)
    if isinstance(kernel, bytes):
        return _Code(kernel, None)
    if isinstance(getattr(kernel, "binary", None), bytes):
        return _Code(kernel.binary, getattr(kernel, "assembly", None))
    raise UsageError(
        f"{type(kernel).__name__} is not a kernel: give HIP source, a Path, a code object, a CompiledKernel or a "
        "@triton.jit function"
    )
