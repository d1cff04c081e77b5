"""The same functions in torch's own operations, with their gradients: where the kernels do not run or do not pay.

Computed in fp32, or in fp64 for fp64 inputs.
"""

from __future__ import annotations

from typing import Any


def norm_forward(
    x: Any, residual: Any, weight: Any, bias: Any, eps: float, offset: float, *, center: bool, round_first: bool
) -> tuple[Any, Any, Any, Any]:
    """y, x + residual, mean and 1 / deviation of the rows; None for those that are not there."""
    h = x + residual if residual is not None else None
    wide = _wide(x if h is None else h)
    mean = wide.mean(-1) if center else None
    if mean is not None:
        wide = wide - mean.unsqueeze(-1)
    rstd = (wide.square().mean(-1) + eps).rsqrt()
    result = wide * rstd.unsqueeze(-1)
    if round_first:
        result = _wide(result.to(x.dtype))
    if weight is not None:
        result = result * (_wide(weight) + offset)
    if bias is not None:
        result = result + _wide(bias)
    return result.to(x.dtype).contiguous(), h if h is None else h.contiguous(), mean, rstd


def norm_backward(
    dy: Any,
    dh: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    offset: float,
    *,
    round_first: bool,
    needs_weight: bool,
    needs_bias: bool,
) -> tuple[Any, Any, Any]:
    """Gradients of the input, of the weight and of the bias; those not asked for are None."""
    given, normal = _wide(dy), _wide(x)
    if mean is not None:
        normal = normal - mean.unsqueeze(-1)
    normal = normal * rstd.unsqueeze(-1)
    leading = tuple(range(x.dim() - 1))
    dweight = dbias = None
    if needs_weight:
        seen = _wide(normal.to(x.dtype)) if round_first else normal
        dweight = _sum(given * seen, leading).to(weight.dtype)
    if needs_bias:
        dbias = _sum(given, leading).to(weight.dtype)
    if weight is not None:
        given = given * (_wide(weight) + offset)
    result = given - normal * (given * normal).mean(-1, keepdim=True)
    if mean is not None:
        result = result - given.mean(-1, keepdim=True)
    result = result * rstd.unsqueeze(-1)
    if dh is not None:
        result = result + _wide(dh)
    return result.to(x.dtype).contiguous(), dweight, dbias


def gated(gate: Any, up: Any, activation: str) -> Any:
    """activation(gate) * up."""
    return (activated(_wide(gate), activation) * _wide(up)).to(gate.dtype).contiguous()


def gated_backward(dout: Any, gate: Any, up: Any, activation: str) -> tuple[Any, Any]:
    """The gradients of gate and up."""
    import torch

    given, left = _wide(dout), _wide(gate)
    value = activated(left, activation)
    slope = given * _wide(up)
    if activation == "silu":
        dgate = torch.ops.aten.silu_backward(slope, left)
    else:
        dgate = torch.ops.aten.gelu_backward(slope, left, approximate=_approximation(activation))
    return dgate.to(gate.dtype).contiguous(), (given * value).to(up.dtype).contiguous()


def rotate(
    q: Any, k: Any, cos: Any, sin: Any, rotated: int, *, interleaved: bool, backward: bool = False
) -> tuple[Any, Any]:
    """q and k of (batch, heads, tokens, width) turned by the angles of (batch or 1, tokens, rotated or its half)."""
    cos, sin = (_wide(table).unsqueeze(1) for table in (cos, sin))
    if cos.shape[-1] == rotated:
        (cos_a, cos_b), (sin_a, sin_b) = _pairs(cos, interleaved), _pairs(sin, interleaved)
    else:
        cos_a, cos_b, sin_a, sin_b = cos, cos, sin, sin
    return tuple(_rotated(x, cos_a, cos_b, sin_a, sin_b, rotated, interleaved, backward) for x in (q, k))


def _rotated(
    x: Any, cos_a: Any, cos_b: Any, sin_a: Any, sin_b: Any, rotated: int, interleaved: bool, backward: bool
) -> Any:
    import torch

    a, b = _pairs(_wide(x[..., :rotated]), interleaved)
    sign = -1.0 if backward else 1.0
    if backward:
        sin_a, sin_b = sin_b, sin_a
    new = (a * cos_a - sign * b * sin_a, b * cos_b + sign * a * sin_b)
    turned = torch.stack(new, dim=-1).flatten(-2) if interleaved else torch.cat(new, dim=-1)
    turned = turned.to(x.dtype)
    return turned if rotated == x.shape[-1] else torch.cat((turned, x[..., rotated:]), dim=-1)


def _pairs(x: Any, interleaved: bool) -> tuple[Any, Any]:
    if interleaved:
        return x[..., 0::2], x[..., 1::2]
    return x.chunk(2, dim=-1)  # type: ignore[no-any-return]


def activated(x: Any, activation: str) -> Any:
    """The activation alone."""
    from torch.nn import functional

    if activation == "silu":
        return functional.silu(x)
    return functional.gelu(x, approximate=_approximation(activation))


def _approximation(activation: str) -> str:
    return "tanh" if activation == "gelu_tanh" else "none"


def _sum(values: Any, leading: tuple[int, ...]) -> Any:
    # sum(()) is the sum of everything.
    return values.sum(leading) if leading else values


def _wide(tensor: Any) -> Any:
    import torch

    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
