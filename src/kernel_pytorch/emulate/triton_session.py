"""Triton's launches on an emulated AMD GPU: `kernel[grid](...)` as it stands in a library, on CPU tensors.

from kernel_pytorch.emulate.triton_session import emulated_triton

with emulated_triton("mi300x") as session:
    y = some_library.rms_norm(x)          # its own wrapper, its own launches, forward and backward
print(session.launches)

Triton asks a driver for the target, for limits and for the launch; here that driver is the emulated GPU. What Triton
compiles is what it would compile for that GPU, arguments specialised as always.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.emulate.device import EmulatedDevice, EmulatedKernel
from kernel_pytorch.emulate.events import Events
from kernel_pytorch.emulate.first_configuration import run_first_that_fits
from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.triton_launch import kernel_memory

_MOST_THREADS = 1024
_ROCM = "7.2"


@dataclass(frozen=True)
class TritonLaunch:
    """One launch of a session."""

    kernel: str
    grid: tuple[int, int, int]
    events: Events


@dataclass
class TritonSession:
    """What happened inside `emulated_triton`."""

    device: EmulatedDevice
    launches: list[TritonLaunch] = field(default_factory=list)


@contextlib.contextmanager
def emulated_triton(
    gpu: GPU | str = "mi300x",
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    device: EmulatedDevice | None = None,
) -> Iterator[TritonSession]:
    """Inside this every Triton launch of the process runs on an emulated GPU; tensors stay on the CPU.

    `@triton.autotune` takes the first configuration that fits the GPU: there are no times to choose by. For wrappers
    that ask torch about the GPU of a CPU tensor, torch.cuda answers with this one, and torch.version.hip is set as in a
    ROCm build, so that code which asks takes its AMD path. Raises EmulatedKernelFault when a kernel faults.
    """
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner

    with contextlib.ExitStack() as stack:
        opened = device if device is not None else stack.enter_context(EmulatedDevice(gpu, settings))
        session = TritonSession(opened)
        stack.enter_context(mock.patch.object(driver, "_active", _Driver(session)))
        stack.enter_context(mock.patch.object(Autotuner, "run", run_first_that_fits))
        _answer_for_torch(stack, opened.gpu)
        yield session


class _Driver:
    """What Triton's runtime calls a driver: the current target and device, limits, and the launcher."""

    def __init__(self, session: TritonSession) -> None:
        self.session = session
        self.loaded: dict[bytes, EmulatedKernel] = {}
        shared = session.device.gpu.target.max_lds_bytes_per_workgroup
        self.utils = SimpleNamespace(
            get_device_properties=lambda _: {
                "max_shared_mem": shared,
                "multiprocessor_count": session.device.gpu.compute_units,
                "warpSize": session.device.gpu.target.wave_size,
            },
            # No module, as there is nothing Triton would have to unload; the function is the code object itself.
            load_binary=lambda name, code_object, *_: (None, code_object, 0, 0, _MOST_THREADS),
        )
        self.launcher_cls = _Launcher

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        target = self.session.device.gpu.target
        return GPUTarget("hip", target.name, target.wave_size)

    def get_current_device(self) -> str:
        # Triton keeps compiled kernels by this: one place for each GPU.
        return f"emulated {self.session.device.gpu.name}"

    def set_current_device(self, device: Any) -> None:
        """There is one."""

    def get_current_stream(self, device: Any) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def launch(self, compiled: _Launcher, grid: tuple[int, int, int], code_object: bytes, args: Sequence[Any]) -> None:
        """Run a kernel that Triton compiled."""
        metadata = compiled.metadata
        if code_object not in self.loaded:
            self.loaded[code_object] = self.session.device.load(code_object, metadata.name, _assembly(compiled))
        loaded = self.loaded[code_object]
        values = [kernel_memory(value) for value in _flat(tuple(compiled.signature.values()), args)]
        spare: list[Any] = [None] * (len(loaded.parameters) - len(values))
        scratch = getattr(metadata, "global_scratch_size", 0)
        if scratch and spare:
            import numpy

            spare[0] = numpy.zeros(scratch * grid[0] * grid[1] * grid[2], dtype=numpy.uint8)
        # Triton's launcher gives the LDS a kernel uses at launch; the code object does not hold it.
        missing = max(metadata.shared - loaded.resources.lds_bytes, 0)
        threads = metadata.num_warps * self.session.device.gpu.target.wave_size
        events = loaded.launch(grid, threads, *values, *spare, shared_bytes=missing)
        self.session.launches.append(TritonLaunch(metadata.name, grid, events))


class _Launcher:
    """Triton makes one for each compiled kernel and calls it to launch."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self.source, self.metadata = source, metadata
        self.signature: dict[str, Any] = source.signature

    def __call__(self, x: int, y: int, z: int, stream: int, code_object: bytes, *rest: Any) -> None:
        from triton.runtime import driver

        active: Any = driver.active
        if not isinstance(active, _Driver):
            raise UsageError(f"{self.metadata.name} was compiled for an emulated GPU: call it inside emulated_triton")
        # Two kinds of metadata and two hooks come before the arguments.
        if x * y * z > 0:
            active.launch(self, (x, y, z), code_object, rest[4:])


def _assembly(compiled: _Launcher) -> str | None:
    """The text of a compiled kernel out of Triton's cache; without it the code object is disassembled."""
    from pathlib import Path

    from triton.runtime.cache import get_cache_manager

    # Triton cuts long names like this.
    found = get_cache_manager(compiled.metadata.hash).get_group(f"{compiled.source.name[:150]}.json") or {}
    paths = [Path(path) for name, path in found.items() if name.endswith(".amdgcn")]
    return paths[0].read_text(encoding="utf-8") if paths and paths[0].is_file() else None


def _flat(signature: Any, args: Any) -> list[Any]:
    """The run-time arguments: constants are in the code, tuples and descriptors are passed as their parts."""
    values: list[Any] = []
    for kind, value in zip(signature, args, strict=True):
        if isinstance(kind, tuple):
            values += _flat(kind, tuple(value))
        elif str(kind).startswith("tensordesc"):
            raise UsageError("a tensor descriptor made on the host is not taken: make it in the kernel")
        elif kind != "constexpr":
            values.append(value)
    return values


def _answer_for_torch(stack: contextlib.ExitStack, gpu: GPU) -> None:
    """torch.cuda's answers about "the GPU of this tensor", for tensors that are on the CPU."""
    import torch

    described = SimpleNamespace(
        name=gpu.name,
        gcnArchName=gpu.target.name,
        multi_processor_count=gpu.compute_units,
        warp_size=gpu.target.wave_size,
    )
    real_device, real_properties = torch.cuda.device, torch.cuda.get_device_properties
    cuda: Any = torch.cuda

    def on_cpu(device: Any) -> bool:
        return device is None or (isinstance(device, torch.device) and device.type == "cpu")

    def device_context(device: Any) -> Any:
        return contextlib.nullcontext() if on_cpu(device) else real_device(device)

    def properties(device: Any = None) -> Any:
        return described if on_cpu(device) or not torch.cuda.is_available() else real_properties(device)

    answers: dict[str, Callable[..., Any]] = {"device": device_context, "get_device_properties": properties}
    if not torch.cuda.is_available():
        answers["current_device"] = lambda: 0
    for name, answer in answers.items():
        stack.enter_context(mock.patch.object(cuda, name, answer))
    stack.enter_context(mock.patch.object(torch.version, "hip", torch.version.hip or _ROCM))
