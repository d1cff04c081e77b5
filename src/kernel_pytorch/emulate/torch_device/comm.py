"""What nn.DataParallel calls: tensors between the GPUs of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def comm_names() -> dict[str, Callable[..., Any]]:
    """The names that torch.nn.parallel.comm takes from torch._C."""
    return {
        "_broadcast": _broadcast,
        "_broadcast_out": _broadcast_out,
        "_broadcast_coalesced": _broadcast_coalesced,
        "_scatter": _scatter,
        "_scatter_out": _scatter_out,
        "_gather": _gather,
        "_gather_out": _gather_out,
    }


def _to(tensor: Any, device: int | None) -> Any:
    return tensor.to("cpu" if device is None or device < 0 else f"cuda:{device}")


def _broadcast(tensor: Any, devices: Sequence[int]) -> tuple[Any, ...]:
    return tuple(_to(tensor, device) for device in devices)


def _broadcast_out(tensor: Any, outputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(output.copy_(tensor) for output in outputs)


def _broadcast_coalesced(tensors: Sequence[Any], devices: Sequence[int], buffer_size: int) -> list[list[Any]]:
    return [[_to(tensor, device) for tensor in tensors] for device in devices]


def _parts(tensor: Any, count: int, sizes: Sequence[int] | None, dim: int) -> Sequence[Any]:
    parts: Sequence[Any] = tensor.split(list(sizes), dim) if sizes else tensor.chunk(count, dim)
    return parts


def _scatter(
    tensor: Any, devices: Sequence[int], sizes: Sequence[int] | None, dim: int, streams: Any = None
) -> tuple[Any, ...]:
    parts = _parts(tensor, len(devices), sizes, dim)
    return tuple(_to(part, device) for part, device in zip(parts, devices, strict=False))


def _scatter_out(tensor: Any, outputs: Sequence[Any], dim: int, streams: Any = None) -> tuple[Any, ...]:
    parts = tensor.split([output.size(dim) for output in outputs], dim)
    return tuple(output.copy_(part) for output, part in zip(outputs, parts, strict=True))


def _gather(tensors: Sequence[Any], dim: int, destination: int | None) -> Any:
    import torch

    return torch.cat([_to(tensor, destination) for tensor in tensors], dim)


def _gather_out(tensors: Sequence[Any], output: Any, dim: int) -> Any:
    sizes = [tensor.size(dim) for tensor in tensors]
    for part, tensor in zip(output.split(sizes, dim), tensors, strict=True):
        part.copy_(tensor)
    return output
