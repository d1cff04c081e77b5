"""Which attention kernel scaled_dot_product_attention would take on the target. torch asks the device for this.

The rules are torch's own for its default order (flash, memory-efficient, math), reduced to what shapes and types
decide. ROCm's kernels come from AOTriton, which is on by default for some targets (the hardware table says which) and
experimental elsewhere.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

from kernel_pytorch.core.hardware import GPU

if TYPE_CHECKING:
    from torch import Tensor

EXPERIMENTAL = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
LARGEST_HEAD = 256

_kept: list[object] = []  # a torch.library registration ends when its object is collected


def choose_attention(gpu: GPU) -> None:
    """Register the choice for fake "cuda" tensors. Only ever called in a child process."""
    import torch

    library = torch.library.Library("aten", "IMPL")

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        kind = kernel_kind(gpu, torch, query, key, attn_mask, is_causal)
        ops = torch.ops.aten
        if kind == "cudnn":
            return ops._scaled_dot_product_cudnn_attention(
                query, key, value, None, False, dropout_p, is_causal, False, scale=scale
            )[0]
        if kind == "flash":
            return ops._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if enable_gqa:
            groups = query.size(-3) // key.size(-3)
            key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
        if kind == "efficient":
            mask = _additive(torch, attn_mask, query, key)
            return ops._scaled_dot_product_efficient_attention(
                query, key, value, mask, False, dropout_p, is_causal, scale=scale
            )[0]
        return ops._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)[
            0
        ]

    for dispatch in ("CUDA", "AutogradCUDA"):
        library.impl("scaled_dot_product_attention", attention, dispatch)
    _kept.append(library)


def kernel_kind(gpu: GPU, torch: ModuleType, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool) -> str:
    """ "cudnn", "flash", "efficient" or "math"."""
    target = gpu.target
    if target.vendor == "amd" and "aotriton" not in target.libraries and os.environ.get(EXPERIMENTAL) != "1":
        return "math"
    head = int(query.size(-1))
    if query.dim() != 4 or head > LARGEST_HEAD:
        return "math"
    half = query.dtype in (torch.float16, torch.bfloat16)
    if half and mask is None and head % 8 == 0:
        return "cudnn" if "cudnn-attention" in target.libraries else "flash"
    return "efficient" if half or query.dtype == torch.float32 else "math"


def _additive(torch: ModuleType, mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(mask.logical_not(), float("-inf"))
    return mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
