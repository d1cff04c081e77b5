"""Attention by the book, one query at a time, in fp64: shares nothing with the adapter."""

from __future__ import annotations

import math
from typing import Any

import torch


def reference(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    scale: float | None = None,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output (batch, queries, heads, size) and log-sum-exp (batch, heads, queries), both fp64."""
    q, k, v = q.double(), k.double(), v.double()
    batch, queries, heads, size = q.shape
    keys, share = k.shape[1], heads // k.shape[2]
    out = torch.zeros(batch, queries, heads, v.shape[-1], dtype=torch.float64, device=q.device)
    lse = torch.full((batch, heads, queries), math.inf, dtype=torch.float64, device=q.device)
    for i in range(queries):
        place = i + keys - queries
        first = max(0, place - window[0]) if window[0] >= 0 else 0
        last = min(keys - 1, place + window[1]) if window[1] >= 0 else keys - 1
        last = min(last, place) if causal else last
        if last < first:
            continue
        for h in range(heads):
            seen = k[:, first : last + 1, h // share]
            scores = torch.einsum("bd,bkd->bk", q[:, i, h], seen) * (scale if scale is not None else size**-0.5)
            if softcap:
                scores = softcap * torch.tanh(scores / softcap)
            if alibi is not None:
                slope = (alibi if alibi.dim() == 1 else alibi[:, h : h + 1]).double()
                slope = slope[h] if alibi.dim() == 1 else slope
                distance = (place - torch.arange(first, last + 1, device=q.device)).abs()
                scores = scores - slope * distance
            lse[:, h, i] = torch.logsumexp(scores, -1)
            out[:, i, h] = torch.einsum("bk,bkd->bd", torch.softmax(scores, -1), v[:, first : last + 1, h // share])
    return out, lse


def inputs(
    batch: int, queries: int, keys: int, heads: int, key_heads: int, size: int, dtype: Any = torch.float64, **where: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random q, k, v in flash-attn's layout, the same on every call."""
    generator = torch.Generator().manual_seed(queries * 1000 + keys * 10 + heads)
    shapes = ((batch, queries, heads, size), (batch, keys, key_heads, size), (batch, keys, key_heads, size))
    q, k, v = (
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype=dtype, **where) for shape in shapes
    )
    return q, k, v
