"""Operators that torch has for the GPU and not for the CPU, made of operators that the CPU has.

torch calls them itself (the cells of LSTM and GRU, the derivative of rms_norm, SyncBatchNorm); their formulas are those
of ATen's kernels. They are registered when torch first uses the GPU: before that, torch.library is not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def register_kernels() -> Any:
    """Give the operators to torch. What is returned holds them there."""
    import torch

    library = torch.library.Library("aten", "IMPL")
    for name, kernel in _KERNELS.items():
        operator = getattr(torch.ops.aten, name.split(".")[0], None)
        overload = name.split(".")[1] if "." in name else "default"
        if operator is not None and hasattr(operator, overload):
            library.impl(name, kernel, "CUDA")
    return library


def _lstm_cell(inputs: Any, hidden: Any, cell: Any, input_bias: Any = None, hidden_bias: Any = None) -> tuple[Any, ...]:
    import torch

    gates = inputs + hidden if input_bias is None else inputs + hidden + input_bias + hidden_bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat((i, f, g, o), 1)


def _lstm_cell_backward(
    grad_hidden: Any, grad_cell: Any, cell: Any, new_cell: Any, workspace: Any, has_bias: bool
) -> tuple[Any, ...]:
    import torch

    i, f, g, o = workspace.chunk(4, 1)
    out = new_cell.tanh()
    through = torch.zeros_like(new_cell) if grad_cell is None else grad_cell
    grad_o = torch.zeros_like(o)
    if grad_hidden is not None:
        through = through + grad_hidden * o * (1 - out * out)
        grad_o = grad_hidden * out * o * (1 - o)
    grads = torch.cat((through * g * i * (1 - i), through * cell * f * (1 - f), through * i * (1 - g * g), grad_o), 1)
    return grads, through * f, grads.sum(0) if has_bias else grads.new_empty(0)


def _gru_cell(inputs: Any, hidden: Any, state: Any, input_bias: Any = None, hidden_bias: Any = None) -> tuple[Any, ...]:
    import torch

    if input_bias is not None:
        inputs, hidden = inputs + input_bias, hidden + hidden_bias
    in_r, in_z, in_n = inputs.chunk(3, 1)
    hid_r, hid_z, hid_n = hidden.chunk(3, 1)
    r, z = (in_r + hid_r).sigmoid(), (in_z + hid_z).sigmoid()
    n = (in_n + r * hid_n).tanh()
    return n + z * (state - n), torch.cat((r, z, n, state, hid_n), 1)


def _gru_cell_backward(grad: Any, workspace: Any, has_bias: bool) -> tuple[Any, ...]:
    import torch

    r, z, n, state, hid_n = workspace.chunk(5, 1)
    grad_z = grad * (state - n) * z * (1 - z)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_r = grad_n * hid_n * r * (1 - r)
    inputs = torch.cat((grad_r, grad_z, grad_n), 1)
    hidden = torch.cat((grad_r, grad_z, grad_n * r), 1)
    none = inputs.new_empty(0)
    biases = (inputs.sum(0), hidden.sum(0)) if has_bias else (none, none)
    return inputs, hidden, grad * z, *biases


def _rms_norm_backward(
    grad: Any, values: Any, shape: Sequence[int], rstd: Any, weight: Any, wanted: Sequence[bool]
) -> tuple[Any, Any]:
    import torch

    dims = list(range(values.dim() - len(shape), values.dim()))
    dtype = torch.promote_types(values.dtype, torch.float32)
    grad_wide, wide = grad.to(dtype), values.to(dtype)
    normed = wide * rstd
    inner = grad_wide if weight is None else grad_wide * weight.to(dtype)
    mean = (inner * normed).sum(dims, keepdim=True) / math.prod(shape)
    grad_values = ((inner - normed * mean) * rstd).to(values.dtype) if wanted[0] else None
    grad_weight = None
    if wanted[1] and weight is not None:
        outer = [dim for dim in range(values.dim()) if dim not in dims]
        grad_weight = (
            (grad_wide * normed).sum(outer).to(weight.dtype) if outer else (grad_wide * normed).to(weight.dtype)
        )
    return grad_values, grad_weight


def _fused_dropout(values: Any, keep: float, generator: Any = None) -> tuple[Any, Any]:
    import torch

    mask = torch.empty_like(values).bernoulli_(keep, generator=generator)
    return values * mask / keep, mask.to(torch.uint8)


def _batch_norm_stats(values: Any, eps: float) -> tuple[Any, Any]:
    dims = [dim for dim in range(values.dim()) if dim != 1]
    wide = values.float()
    return wide.mean(dims), (wide.var(dims, unbiased=False) + eps).rsqrt()


def _per_channel(value: Any, like: Any) -> Any:
    return value.view([1, -1, *[1] * (like.dim() - 2)])


def _batch_norm_elemt(values: Any, weight: Any, bias: Any, mean: Any, invstd: Any, eps: float) -> Any:
    out = (values - _per_channel(mean, values)) * _per_channel(invstd, values)
    if weight is not None:
        out = out * _per_channel(weight, values) + _per_channel(bias, values)
    return out.to(values.dtype)


def _batch_norm_gather(
    values: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, counts: Any
) -> tuple[Any, Any]:
    counts = counts.to(mean.dtype).view(-1, 1)
    total = counts.sum()
    whole = (mean * counts).sum(0) / total
    variance = ((1 / invstd**2 - eps) * counts + (mean - whole) ** 2 * counts).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * whole)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(momentum * variance * total / (total - 1))
    return whole, (variance + eps).rsqrt()


def _batch_norm_backward_reduce(
    grad: Any, values: Any, mean: Any, invstd: Any, weight: Any, input_g: bool, weight_g: bool, bias_g: bool
) -> tuple[Any, ...]:
    dims = [dim for dim in range(values.dim()) if dim != 1]
    wide = grad.float()
    sum_dy = wide.sum(dims)
    sum_dy_xmu = (wide * (values.float() - _per_channel(mean, values))).sum(dims)
    grad_weight = (sum_dy_xmu * invstd).to(weight.dtype) if weight_g and weight is not None else None
    return sum_dy, sum_dy_xmu, grad_weight, sum_dy.to(grad.dtype) if bias_g else None


def _batch_norm_backward_elemt(
    grad: Any, values: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, count: Any
) -> Any:
    total = count.sum().to(sum_dy.dtype)
    centred = values - _per_channel(mean, values)
    slope = centred * _per_channel(invstd**2 * sum_dy_xmu / total, values)
    scale = _per_channel(invstd if weight is None else invstd * weight, values)
    return ((grad - _per_channel(sum_dy / total, values) - slope) * scale).to(values.dtype)


def _with_type(name: str) -> Callable[..., Any]:
    """`mm(a, b, out_dtype)`: a product of half precision that is given in single precision."""

    def product(*arguments: Any, beta: float = 1, alpha: float = 1) -> Any:
        import torch

        *tensors, dtype = arguments
        scales = {"beta": beta, "alpha": alpha} if name in ("addmm", "baddbmm") else {}
        return getattr(torch, name)(*(tensor.to(dtype) for tensor in tensors), **scales)

    return product


_KERNELS: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
    "_fused_rms_norm_backward": _rms_norm_backward,
    "_fused_dropout": _fused_dropout,
    "_masked_scale": lambda values, mask, scale: values * mask * scale,
    "batch_norm_stats": _batch_norm_stats,
    "batch_norm_elemt": _batch_norm_elemt,
    "batch_norm_gather_stats_with_counts": _batch_norm_gather,
    "batch_norm_backward_reduce": _batch_norm_backward_reduce,
    "batch_norm_backward_elemt": _batch_norm_backward_elemt,
    # There is neither library here: ATen's own kernel is taken.
    **dict.fromkeys(
        ("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor"),
        lambda *arguments: False,
    ),
    "mm.dtype": _with_type("mm"),
    "bmm.dtype": _with_type("bmm"),
    "addmm.dtype": _with_type("addmm"),
    "baddbmm.dtype": _with_type("baddbmm"),
}
