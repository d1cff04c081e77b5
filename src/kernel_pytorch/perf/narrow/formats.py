"""Weights in fewer bits, and back: int8 or fp8 with a scale for each row, int4 with one for each 128 columns of a row.

A byte of int4 has column c of a group in its low half and column c + 64 in its high half, each plus 8: both halves are
multiplied with inputs that lie side by side. This module imports torch: import it inside a function.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

INT8, INT4, FP8 = "int8", "int4", "fp8"
GROUP = 128
LARGEST_INT8, LARGEST_INT4, MIDDLE = 127, 7, 8
# Parts of the largest magnitude that become the largest number of int4: what is beyond is cut off, the rest is finer.
CUTS = (1.0, 0.95, 0.9, 0.85, 0.8)


@dataclass(frozen=True)
class Narrow:
    """A weight of (rows, columns): its bits and its scales. `fp8` is the element type where the kind is fp8."""

    kind: str
    bits: torch.Tensor
    scales: torch.Tensor
    fp8: torch.dtype | None = None


def narrowed(weight: torch.Tensor, kind: str, fp8: torch.dtype | None = None) -> Narrow:
    """A weight in one of the kinds. int4 needs columns in multiples of GROUP."""
    wide = weight.detach().float()
    if kind == INT4:
        groups = wide.reshape(wide.shape[0], -1, GROUP)
        scales = _best_scales(groups, weight.dtype)
        whole = _rounded(groups, scales) + MIDDLE
        low, high = whole[..., : GROUP // 2], whole[..., GROUP // 2 :]
        bits = (low + 16 * high).to(torch.uint8).reshape(wide.shape[0], -1)
        return Narrow(kind, bits, scales.reshape(wide.shape[0], -1).to(weight.dtype))
    top = wide.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    if kind == INT8:
        scales = top / LARGEST_INT8
        bits = (wide / scales).round().clamp(-LARGEST_INT8, LARGEST_INT8).to(torch.int8)
        return Narrow(kind, bits, scales[:, 0].contiguous())
    if fp8 is None:
        raise ValueError("weights in fp8 need an element type")
    limit = torch.finfo(fp8).max
    scales = top / limit
    return Narrow(kind, (wide / scales).clamp(-limit, limit).to(fp8), scales[:, 0].contiguous(), fp8)


def _rounded(groups: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return (groups / scales.clamp(min=1e-12)).round().clamp(-LARGEST_INT4, LARGEST_INT4)


def _best_scales(groups: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Of a few scales for each group the one with the least squared error, as the weight's type has it."""
    top = groups.abs().amax(-1, keepdim=True)
    best = error = None
    for cut in CUTS:
        scales = (top * cut / LARGEST_INT4).to(dtype).float()
        its = (_rounded(groups, scales) * scales - groups).pow(2).sum(-1, keepdim=True)
        if best is None or error is None:
            best, error = scales, its
        else:
            best, error = torch.where(its < error, scales, best), torch.minimum(its, error)
    assert best is not None
    return best


def widened(narrow: Narrow) -> torch.Tensor:
    """The weight that the bits stand for, in fp32."""
    if narrow.kind != INT4:
        return narrow.bits.float() * narrow.scales.float()[:, None]
    rows = narrow.bits.shape[0]
    packed = narrow.bits.to(torch.int32).reshape(rows, -1, GROUP // 2)
    whole = torch.cat((packed & 15, packed >> 4), -1).float() - MIDDLE
    return (whole * narrow.scales.float()[:, :, None]).reshape(rows, -1)


def why_not(weight: torch.Tensor, kind: str) -> str | None:
    """What about a weight keeps it from a kind; None where it can be had."""
    if weight.dtype not in (torch.bfloat16, torch.float16):
        return f"a weight is {str(weight.dtype).removeprefix('torch.')}, and bfloat16 or float16 is taken"
    if kind == INT4 and weight.shape[1] % GROUP:
        return f"a weight has {weight.shape[1]} columns, which are no multiple of {GROUP}"
    return None


def furthest(weight: torch.Tensor, narrow: Narrow) -> float:
    """How far the bits are from the weight: the largest distance of a row, over what rounding alone explains."""
    wide = weight.detach().float()
    off = (widened(narrow) - wide).abs()
    if narrow.kind == INT4:
        scales = narrow.scales.float().repeat_interleave(GROUP, 1)
        # Half a step, or what the largest cut takes off, and the rounding of the scale.
        allowed = torch.maximum(scales / 2, wide.abs() - LARGEST_INT4 * scales) + wide.abs() / 256
        allowed = torch.minimum(allowed, scales / 2 + LARGEST_INT4 * scales * (1 / CUTS[-1] - 1) + wide.abs() / 256)
    elif narrow.kind == INT8:
        allowed = narrow.scales.float()[:, None] / 2 + wide.abs() / 256
    else:
        allowed = wide.abs() / 8 + narrow.scales.float()[:, None] / 64
    return float((off / allowed.clamp(min=1e-30)).max())
