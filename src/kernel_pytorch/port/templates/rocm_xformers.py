"""xformers.ops.memory_efficient_attention on ROCm, by PyTorch's SDPA.

Written by `kpt port`; imports nothing of it, and is imported on ROCm only. Layout (batch, queries, heads, size), or
(batch, queries, size) for one head. A bias is a tensor or LowerTriangularMask; xformers' other masks are refused by
name.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional


class LowerTriangularMask:
    """Query i sees keys 0 to i: aligned top-left, as in xformers."""


def memory_efficient_attention(
    query: Any, key: Any, value: Any, attn_bias: Any = None, p: float = 0.0, scale: float | None = None,
    *, op: Any = None, output_dtype: Any = None,
) -> Any:  # fmt: skip
    """Attention as xformers defines it; `op`, the choice of a CUDA kernel, is not looked at."""
    if query.dim() == 5:
        raise NotImplementedError("memory_efficient_attention with grouped heads (batch, queries, groups, heads, size)")
    is_causal = isinstance(attn_bias, LowerTriangularMask) or attn_bias is LowerTriangularMask
    if attn_bias is not None and not is_causal and not isinstance(attn_bias, torch.Tensor):
        raise NotImplementedError(f"attn_bias of type {type(attn_bias).__name__}")
    one_head = query.dim() == 3
    if one_head:
        query, key, value = (item.unsqueeze(2) for item in (query, key, value))
    bias = None
    if isinstance(attn_bias, torch.Tensor):
        bias = attn_bias.unsqueeze(1) if one_head and attn_bias.dim() == 3 else attn_bias
        bias = bias if bias.dtype is torch.bool else bias.to(query.dtype)
    query, key, value = (item.transpose(1, 2) for item in (query, key, value))
    out = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, dropout_p=p, is_causal=is_causal, scale=scale
    ).transpose(1, 2)
    out = out.squeeze(2) if one_head else out
    return out if output_dtype is None else out.to(output_dtype)


def unbind(x: Any, dim: int = 0) -> Any:
    """torch.unbind: xformers' own differs in its backward pass only, by saving a copy."""
    return torch.unbind(x, dim)
