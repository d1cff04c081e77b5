"""Launching the norm kernels on tensors of any layout."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from kernel_pytorch.models.kernels import launch
from kernel_pytorch.models.kernels.launch import Card, Launch, card_of
from kernel_pytorch.models.kernels.norm_kernels import norm_kernels

if TYPE_CHECKING:
    from torch import Tensor

# Column sums of long rows: a tile of 32 rows x 128 columns, and so many groups of rows that the card is full.
_SUM_ROWS, _SUM_COLUMNS, _GROUPS = 32, 128, 64


def forward(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    offset: float,
    *,
    center: bool,
    round_first: bool,
    chosen: Launch | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor]:
    """y, x + residual (None without a residual), mean (None without `center`) and 1 / deviation of the rows."""
    import torch

    length = x.shape[-1]
    count = x.numel() // length if length else 0
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    h = torch.empty(x.shape, dtype=x.dtype, device=x.device) if residual is not None else None
    mean = torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device) if center else None
    rstd = torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device)
    if count == 0:
        return y, h, mean, rstd
    card = card_of(x.device)
    chosen = chosen or launch.norm_forward(card, length)
    rows = as_rows(x)
    others = as_rows(residual) if residual is not None else None
    kernel = norm_kernels()["norm_forward_long" if chosen.block < length else "norm_forward"]
    with on_device(x):
        kernel[(-(-count // chosen.rows),)](
            y, h, mean, rstd, rows, others, in_line(weight), in_line(bias), count, length,
            rows.stride(0), others.stride(0) if others is not None else 0, eps, offset,
            CENTER=center, ROUND_FIRST=round_first, ROWS=chosen.rows, BLOCK=chosen.block, **chosen.options(card),
        )  # fmt: skip
    return y, h, mean, rstd


def backward(
    dy: Tensor,
    dh: Tensor | None,
    x: Tensor,
    mean: Tensor | None,
    rstd: Tensor,
    weight: Tensor | None,
    offset: float,
    *,
    round_first: bool,
    needs_weight: bool,
    needs_bias: bool,
    chosen: Launch | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Gradients of the input, of the weight and of the bias; those not asked for are None."""
    import torch

    length = x.shape[-1]
    count = x.numel() // length if length else 0
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if count == 0:
        zeros = [torch.zeros_like(weight) if wanted else None for wanted in (needs_weight, needs_bias)]
        return dx, zeros[0], zeros[1]
    card, center = card_of(x.device), mean is not None
    given, rows = as_rows(dy), as_rows(x)
    more = as_rows(dh) if dh is not None else None
    weight = in_line(weight)
    strides = (given.stride(0), more.stride(0) if more is not None else 0, rows.stride(0))
    fits = launch.fits_backward(length, center=center) if chosen is None else chosen.block >= length
    chosen = chosen or launch.norm_backward(card, length, count, center=center)
    groups = chosen.programs if fits else max(min(_GROUPS, -(-count // _SUM_ROWS)), 1)
    weight_parts = _parts(groups, length, x) if needs_weight else None
    bias_parts = _parts(groups, length, x) if needs_bias else None
    with on_device(x):
        if fits:
            norm_kernels()["norm_backward"][(chosen.programs,)](
                dx, weight_parts, bias_parts, given, more, rows, mean, rstd, weight, count, length, *strides, offset,
                CENTER=center, ROUND_FIRST=round_first, ROWS=chosen.rows, BLOCK=chosen.block,
                PREFETCH=chosen.prefetch, HOLD=chosen.hold, **chosen.options(card),
            )  # fmt: skip
        else:
            pieces = launch.norm_forward(card, launch.LONGEST_ROW + 1)
            norm_kernels()["norm_backward_long"][(count,)](
                dx, given, more, rows, mean, rstd, weight, length, *strides, offset,
                CENTER=center, BLOCK=pieces.block, **pieces.options(card),
            )  # fmt: skip
            if needs_weight or needs_bias:
                norm_kernels()["weight_gradient_long"][(-(-length // _SUM_COLUMNS), groups)](
                    weight_parts, bias_parts, given, rows, mean, rstd, count, length, strides[0], strides[2],
                    CENTER=center, ROUND_FIRST=round_first, ROWS=_SUM_ROWS, BLOCK=_SUM_COLUMNS,
                    **Launch(_SUM_COLUMNS, _SUM_ROWS, 256).options(card),
                )  # fmt: skip
        dweight, dbias = _summed(weight_parts, bias_parts, groups, length, weight, card)
    return dx, dweight, dbias


def _parts(groups: int, length: int, like: Tensor) -> Tensor:
    import torch

    return torch.empty((groups, length), dtype=torch.float32, device=like.device)


def _summed(
    weight_parts: Tensor | None, bias_parts: Tensor | None, groups: int, length: int, weight: Tensor | None, card: Card
) -> tuple[Tensor | None, Tensor | None]:
    import torch

    if weight_parts is None and bias_parts is None:
        return None, None
    dweight = torch.empty_like(weight) if weight_parts is not None else None
    dbias = torch.empty_like(weight) if bias_parts is not None else None
    # 32 columns are one line of a cache; few columns in a program make enough programs of them.
    columns, rows = 32, min(launch.power_of_two(groups), 128)
    norm_kernels()["sum_parts"][(-(-length // columns),)](
        dweight, dbias, weight_parts, bias_parts, groups, length,
        ROWS=rows, BLOCK=columns, **Launch(columns, rows, 256).options(card),
    )  # fmt: skip
    return dweight, dbias


def as_rows(tensor: Tensor) -> Tensor:
    """The tensor as a matrix of rows with neighbours side by side; copied only where its strides do not allow that."""
    rows = tensor.reshape(-1, tensor.shape[-1])
    return rows if rows.stride(-1) == 1 or rows.shape[-1] == 1 else rows.contiguous()


def in_line(vector: Tensor | None) -> Tensor | None:
    """A weight with its values side by side; None stays None."""
    return None if vector is None else vector.contiguous()


def on_device(tensor: Tensor) -> AbstractContextManager[object]:
    """Triton launches on the current device, which need not be the tensor's."""
    import torch

    if tensor.device.type != "cuda" or tensor.device.index == torch.cuda.current_device():
        return nullcontext()
    context: AbstractContextManager[object] = torch.cuda.device(tensor.device)
    return context
