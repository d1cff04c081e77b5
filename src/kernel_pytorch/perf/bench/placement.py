"""On which device targets run: a CPU's time must never be called a GPU's, nor the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.clock.device import Device, current_device
from kernel_pytorch.perf.bench.target import Target

if TYPE_CHECKING:
    from torch import Tensor


def device_for(targets: list[Target]) -> Device:
    """The device all targets are on. Raises UsageError where they are on different ones."""
    places = {target.name: runs_on_gpu(target) for target in targets}
    if len(set(places.values())) > 1:
        on_gpu = next(name for name, gpu in places.items() if gpu)
        on_cpu = next(name for name, gpu in places.items() if not gpu)
        raise UsageError(f"{on_gpu} is on the GPU, {on_cpu} on the CPU: they cannot be compared")
    return current_device(force_cpu=not all(places.values()))


def runs_on_gpu(target: Target) -> bool:
    """By its parameters and inputs; a bare function is taken to use the GPU if anything has been put there."""
    import torch

    if not torch.cuda.is_available():
        return False
    found = list(_tensors(target))
    if found:
        return any(one.is_cuda for one in found)
    return bool(torch.cuda.memory_allocated() > 0)


def _tensors(target: Target) -> Iterator[Tensor]:
    if target.is_module:
        yield from target.call.parameters()  # type: ignore[attr-defined]
        yield from target.call.buffers()  # type: ignore[attr-defined]
    yield from _inside((target.arguments, target.keywords))


def _inside(value: object) -> Iterator[Tensor]:
    if hasattr(value, "is_cuda"):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, dict):
        yield from _inside(list(value.values()))
