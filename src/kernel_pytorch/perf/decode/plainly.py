"""The operators of decoding in plain torch: what they compute on a CPU, and what the kernels are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.form import GELU_TANH, SILU

if TYPE_CHECKING:
    from torch import Tensor


def normed(x: Tensor, norm: Tensor | None, epsilon: float, plus: float = 0.0) -> Tensor:
    """In fp32; as it is without a norm."""
    import torch

    wide = x.float()
    if norm is not None:
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon) * (norm.float() + plus)
    return wide


def row_products(
    x: Tensor,
    weights: list[Tensor],
    norm: Tensor | None,
    epsilon: float,
    biases: list[Tensor],
    residual: Tensor | None,
    overlaps: bool,
    plus: float = 0.0,
) -> Tensor:
    """residual + weights @ rms_norm(x) + biases, the results of several weights one behind the other."""
    import torch

    out = normed(x, norm, epsilon, plus) @ torch.cat([one.float() for one in weights]).t()
    out = out + torch.cat([one.float() for one in biases]) if biases else out
    out = out if residual is None else out + residual.float().reshape(out.shape)
    return out.to(x.dtype)


def row_gated(
    x: Tensor,
    gate: Tensor,
    up: Tensor,
    norm: Tensor | None,
    epsilon: float,
    overlaps: bool,
    plus: float = 0.0,
    active: str = SILU,
) -> Tensor:
    """active(gate @ rms_norm(x)) * (up @ rms_norm(x))."""
    import torch

    wide = normed(x, norm, epsilon, plus)
    first, second = (wide @ one.float().t() for one in (gate, up))
    if active == SILU:
        return (torch.nn.functional.silu(first) * second).to(x.dtype)
    approximate = "tanh" if active == GELU_TANH else "none"
    return (torch.nn.functional.gelu(first, approximate=approximate) * second).to(x.dtype)


def rotated(
    x: Tensor,
    cos: Tensor | None,
    sin: Tensor | None,
    norm: Tensor | None = None,
    epsilon: float = 0.0,
    plus: float = 0.0,
    neighbours: bool = False,
) -> Tensor:
    """All of x or the first of it rotated, after its norm."""
    import torch

    wide = normed(x, norm, epsilon, plus)
    if cos is None or sin is None:
        return wide
    turned, rest = wide[..., : cos.numel()], wide[..., cos.numel() :]
    half = cos.numel() // 2
    if neighbours:
        other = torch.stack((-turned[..., 1::2], turned[..., ::2]), -1).flatten(-2)
    else:
        other = torch.cat((-turned[..., half:], turned[..., :half]), -1)
    cos, sin = (one.float().reshape(-1) for one in (cos, sin))
    return torch.cat((turned * cos + other * sin, rest), -1)


def attend(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    bias: Tensor | None,
    cos: Tensor | None,
    sin: Tensor | None,
    scale: float,
    norm: Tensor | None,
    epsilon: float,
    cap: float,
    overlaps: bool,
    plus: float = 0.0,
    neighbours: bool = False,
) -> Tensor:
    """softmax(cap(scale * q keys) + bias) values, for one query a sequence."""
    import torch

    group = q.shape[1] // keys.shape[1]
    k, v = (one.float().repeat_interleave(group, 1) for one in (keys, values))
    scores = scale * rotated(q, cos, sin, norm, epsilon, plus, neighbours) @ k.transpose(-1, -2)
    scores = cap * torch.tanh(scores / cap) if cap else scores
    scores = scores if bias is None else scores + bias.float()
    return (scores.softmax(-1) @ v).to(q.dtype)


def attend_and_store(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keys: Tensor,
    values: Tensor,
    position: Tensor,
    bias: Tensor | None,
    cos: Tensor | None,
    sin: Tensor | None,
    scale: float,
    q_norm: Tensor | None,
    k_norm: Tensor | None,
    epsilon: float,
    cap: float,
    overlaps: bool,
    plus: float = 0.0,
    neighbours: bool = False,
) -> Tensor:
    """The same after the new key and value went into the cache."""
    new = rotated(k, cos, sin, k_norm, epsilon, plus, neighbours)
    keys.index_copy_(2, position.view(1), new.to(keys.dtype))
    values.index_copy_(2, position.view(1), v)
    return attend(
        q, keys, values, bias, cos, sin, scale, q_norm, epsilon, cap, overlaps, plus=plus, neighbours=neighbours
    )
