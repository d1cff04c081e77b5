"""An emulated AMD GPU for the torch of this process.

from kernel_pytorch.emulate.torch_session import emulated_gpu

with emulated_gpu("mi300x") as session:
    model.cuda()                              # torch.cuda answers as on an MI300X
print(session.operators, session.launches)    # what the CPU computed, and what ran as the GPU's machine code

One GPU can be emulated in a process: the runtime reads what it is to be when it is loaded. Where torch was imported
before, torch.cuda's modules run again; names that somebody took out of them earlier (`from torch.cuda import Stream`)
are the old ones. A CUDA build of torch has to be imported inside the block. `kpt emulate -- python train.py` has none
of these limits.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.emulate.events import Fault, Launch, read_events
from kernel_pytorch.emulate.run import RunSettings, emulation_environment
from kernel_pytorch.emulate.torch_device.cuda_build import installed_torch, is_cuda_build, take_its_place
from kernel_pytorch.emulate.torch_device.install import ADJUSTMENTS, ROCM, load, names, set_version, storage_on_device
from kernel_pytorch.emulate.torch_device.native import Native
from kernel_pytorch.emulate.torch_device.nccl import install_nccl
from kernel_pytorch.emulate.torch_device.report import operator_calls
from kernel_pytorch.emulate.torch_program import adjust_on_import

# In this order they run again: each takes names from those before it.
_MODULES = ("torch.cuda.streams", "torch.cuda.graphs", "torch.cuda.memory", "torch.cuda.nvtx", "torch.cuda")


@dataclass(frozen=True)
class _Opened:
    """The GPU that the runtime of this process was told to be."""

    gpu: str
    settings: RunSettings
    environment: Mapping[str, str]
    report: Path


_opened: list[_Opened] = []


class TorchSession:
    """What torch did on the emulated GPU since the block began."""

    def __init__(self, native: Native, report: Path) -> None:
        self._native, self._report = native, report
        self._before = operator_calls(native)
        events = read_events(report)
        self._launches, self._faults = len(events.launches), len(events.faults)

    @property
    def operators(self) -> dict[str, int]:
        """Operator -> calls. All of them were computed on the CPU."""
        now = operator_calls(self._native)
        return {
            name: count - self._before.get(name, 0) for name, count in now.items() if count > self._before.get(name, 0)
        }

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Kernels that ran as the GPU's machine code."""
        return read_events(self._report).launches[self._launches :]

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What those kernels did wrong."""
        return read_events(self._report).faults[self._faults :]


@contextlib.contextmanager
def emulated_gpu(
    gpu: GPU | str = "mi300x",
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
) -> Iterator[TorchSession]:
    """Inside this, torch has an emulated GPU as its "cuda" device. Everything is put back at the end of the block.

    Tensors that stay alive keep their memory, and cannot be computed with after the block.
    """
    folder = installed_torch()
    if "torch" not in sys.modules and folder is not None and is_cuda_build(folder):
        take_its_place(folder)
    import torch

    torch_c: Any = torch._C
    if hasattr(torch_c, "_cuda_getDeviceCount"):
        raise UsageError(
            "this torch is a CUDA build, which was imported with its CUDA libraries: enter emulated_gpu before torch "
            "is imported, or use kpt emulate or pytest --emulated-gpu"
            if torch.version.cuda
            else "this torch has a GPU already: a real one, or an emulated one around this block"
        )
    opened = _open(gpu_to_emulate(gpu) if isinstance(gpu, str) else gpu, settings)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_variables(opened.environment))
        native = load()
        stack.enter_context(_names_in(torch_c, names(native)))
        stack.enter_context(_content_kept("torch.version"))
        set_version(ROCM)
        stack.callback(storage_on_device(torch.UntypedStorage, native))
        stack.callback(install_nccl())
        adjust_on_import(ADJUSTMENTS)  # these stay: without a GPU nothing calls what they adjust
        for module in _MODULES:
            stack.enter_context(_content_kept(module))
        native.set_open(1)
        stack.callback(native.set_open, 0)
        for module in _MODULES:
            importlib.reload(sys.modules[module])
        torch.cuda.init()
        _require_threads()
        yield TorchSession(native, opened.report)


def _open(gpu: GPU, settings: RunSettings) -> _Opened:
    if not _opened:
        # As long as the process: the runtime writes there whenever it likes.
        scratch = Path(tempfile.mkdtemp(prefix="kpt-emulate-"))
        report = scratch / "report.jsonl"
        environment = emulation_environment(gpu, settings, scratch, report, None)
        _opened.append(_Opened(gpu.name, settings, environment, report))
    found = _opened[0]
    if (found.gpu, found.settings) != (gpu.name, settings):
        raise UsageError(
            f"this process has emulated a {found.gpu} before, and can emulate no other GPU and with no other settings: "
            "start another process, or use kpt emulate"
        )
    return found


def _require_threads() -> None:
    """torch starts one thread for each GPU at the first backward pass of the process, and never again."""
    import torch

    try:
        torch.ones(1, device="cuda", requires_grad=True).sum().backward()
    except RuntimeError as problem:
        if "device_ready_queues" not in str(problem):
            raise
        raise UsageError(
            "a backward pass ran in this process before emulated_gpu, and torch has no thread for a GPU now: enter "
            "emulated_gpu earlier, or use kpt emulate"
        ) from problem


@contextlib.contextmanager
def _variables(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update({name: value for name, value in environment.items() if os.environ.get(name) != value})
    # Our start folder is for other processes: torch is here.
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def _names_in(module: Any, values: Mapping[str, Any]) -> Iterator[None]:
    before = {name: vars(module)[name] for name in values if name in vars(module)}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                setattr(module, name, before[name])
            else:
                delattr(module, name)


@contextlib.contextmanager
def _content_kept(name: str) -> Iterator[None]:
    importlib.import_module(name)
    content = vars(sys.modules[name])
    before = dict(content)
    try:
        yield
    finally:
        content.clear()
        content.update(before)
