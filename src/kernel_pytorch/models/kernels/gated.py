"""Launching the kernels of gated activations on tensors of any layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.kernels import launch
from kernel_pytorch.models.kernels.gated_kernels import gated_kernels
from kernel_pytorch.models.kernels.launch import Launch, card_of
from kernel_pytorch.models.kernels.norms import as_rows, on_device

if TYPE_CHECKING:
    from torch import Tensor

if TYPE_CHECKING:
    from torch import Tensor


def forward(gate: Tensor, up: Tensor, activation: str, chosen: Launch | None = None) -> Any:
    """activation(gate) * up."""
    import torch

    out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    if not out.numel():
        return out
    (left, right), rows, length = _matrices(gate, up)
    card = card_of(gate.device)
    chosen = chosen or launch.gated(card, length)
    tiles = -(-length // chosen.block)
    with on_device(gate):
        gated_kernels()["gated_forward"][(rows * tiles,)](
            out, left, right, length, tiles, left.stride(0), right.stride(0),
            KIND=activation, BLOCK=chosen.block, **chosen.options(card),
        )  # fmt: skip
    return out


def backward(dout: Tensor, gate: Tensor, up: Tensor, activation: str, chosen: Launch | None = None) -> tuple[Any, Any]:
    """The gradients of gate and up."""
    import torch

    dgate = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    dup = torch.empty(up.shape, dtype=up.dtype, device=up.device)
    if not dup.numel():
        return dgate, dup
    (given, left, right), rows, length = _matrices(dout, gate, up)
    card = card_of(gate.device)
    chosen = chosen or launch.gated(card, length)
    tiles = -(-length // chosen.block)
    with on_device(gate):
        gated_kernels()["gated_backward"][(rows * tiles,)](
            dgate, dup, given, left, right, length, tiles, given.stride(0), left.stride(0), right.stride(0),
            KIND=activation, BLOCK=chosen.block, **chosen.options(card),
        )  # fmt: skip
    return dgate, dup


def _matrices(*tensors: Tensor) -> tuple[list[Tensor], int, int]:
    """The tensors as rows; as one row where none of them has gaps."""
    if all(tensor.is_contiguous() for tensor in tensors):
        return [tensor.reshape(1, -1) for tensor in tensors], 1, tensors[0].numel()
    rows = [as_rows(tensor) for tensor in tensors]
    return rows, rows[0].shape[0], rows[0].shape[1]
