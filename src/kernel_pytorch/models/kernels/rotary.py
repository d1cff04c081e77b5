"""Launching the kernel of rotary position embedding on tensors of any layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.kernels import launch
from kernel_pytorch.models.kernels.launch import Launch, card_of
from kernel_pytorch.models.kernels.norms import on_device
from kernel_pytorch.models.kernels.rope_kernels import rope_kernels

if TYPE_CHECKING:
    from torch import Tensor

if TYPE_CHECKING:
    from torch import Tensor


def rotate(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    rotated: int,
    *,
    interleaved: bool,
    backward: bool,
    chosen: Launch | None = None,
) -> tuple[Tensor, Tensor]:
    """q and k of (batch, heads, tokens, width) turned by the angles of (batch or 1, tokens, rotated or its half)."""
    import torch

    q, k, cos, sin = (_side_by_side(tensor) for tensor in (q, k, cos, sin))
    sin = sin if sin.stride() == cos.stride() else sin.contiguous()
    cos = cos if sin.stride() == cos.stride() else cos.contiguous()
    out_q, out_k = (torch.empty_like(tensor) for tensor in (q, k))
    batch, q_heads, tokens, width = q.shape
    k_heads = k.shape[1]
    if not batch * tokens * width * (q_heads + k_heads):
        return out_q, out_k
    half, rest = rotated // 2, width - rotated
    card = card_of(q.device)
    heads_first = tokens == 1 or q.stride(1) < q.stride(2)
    chosen = chosen or launch.rope(card, max(q_heads, k_heads) if heads_first else tokens, half)
    heads, steps = (chosen.rows, 1) if heads_first else (1, chosen.rows)
    q_tiles = -(-q_heads // heads)
    tiles, blocks = q_tiles + -(-k_heads // heads), -(-tokens // steps)
    with on_device(q):
        rope_kernels()["rope"][(batch * tiles * blocks,)](
            out_q, out_k, q, k, cos, sin, tokens, q_heads, k_heads, q_tiles, tiles, blocks,
            *out_q.stride()[:3], *out_k.stride()[:3], *q.stride()[:3], *k.stride()[:3],
            cos.stride(0) if cos.shape[0] > 1 else 0, cos.stride(1), half, rest,
            INTERLEAVED=interleaved, FULL_TABLE=cos.shape[-1] == rotated, BACKWARD=backward, HEADS=heads, TOKENS=steps,
            HALF=launch.power_of_two(half), REST=launch.power_of_two(rest) if rest else 0, **chosen.options(card),
        )  # fmt: skip
    return out_q, out_k


def _side_by_side(tensor: Tensor) -> Any:
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()
