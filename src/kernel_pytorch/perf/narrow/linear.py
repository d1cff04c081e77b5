"""nn.Linear that reads a copy of its weight in 8 or 4 bits where there are few rows. This module imports torch."""

from __future__ import annotations

import torch
from torch import nn

from kernel_pytorch.perf.narrow.formats import INT4, Narrow, furthest, narrowed, widened
from kernel_pytorch.perf.narrow.launch import MOST_ROWS, register

NEAR = 2e-2  # of the largest result: a product in half precision, rounded once
TRIED_ROWS = (1, 3)


class NarrowLinear(nn.Linear):  # type: ignore[misc]
    """A Linear with the same parameters, and a narrow copy of its weight that later changes do not reach.

    More than MOST_ROWS rows at once are multiplied by the weight as it is."""

    narrow: Narrow

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        if rows.shape[0] > MOST_ROWS or not rows.shape[0]:
            return super().forward(x)
        narrow = self.narrow
        out = torch.ops.kpt_narrow.product(rows.contiguous(), narrow.bits, narrow.scales, self.bias, narrow.kind)
        return out.reshape(*x.shape[:-1], -1)


def made_narrow(twin: nn.Linear, kind: str, fp8: torch.dtype | None = None) -> None:
    """Turn the twin of a Linear into a NarrowLinear."""
    register()
    twin.__class__ = NarrowLinear
    object.__setattr__(twin, "narrow", narrowed(twin.weight, kind, fp8))  # neither parameter nor buffer


def faults(path: str, linear: NarrowLinear) -> str:
    """What is wrong with a narrow weight or with the kernel that multiplies it; empty where nothing is.

    The usual tolerance is not for narrow weights, and what is allowed instead could hide a wrong scale. So two things
    are looked at one by one: whether the bits are the weight, up to rounding, and whether the kernel gives what plain
    torch gives for the same bits."""
    narrow = linear.narrow
    off = furthest(linear.weight, narrow)
    if not off <= 1.01:
        return f"{path}: a weight in {narrow.kind} is {off:.1f} times as far from the original as rounding explains"
    generator = torch.Generator().manual_seed(0)
    wide = widened(narrow)
    for count in TRIED_ROWS:
        x = torch.randn(count, wide.shape[1], generator=generator).to(linear.weight)
        expected = x.float() @ wide.t() + (0.0 if linear.bias is None else linear.bias.float())
        found = linear(x).float()
        # Each group of columns for itself: a wrong scale of one is little of a whole sum.
        distance, size = float((found - expected).abs().max()), float(expected.abs().max())
        if not distance <= NEAR * size:
            return f"{path}: the product of {count} rows is {distance:.3g} off, of results up to {size:.3g}"
    if narrow.kind == INT4:
        return _group_faults(path, linear, wide)
    return ""


def _group_faults(path: str, linear: NarrowLinear, wide: torch.Tensor) -> str:
    """Inputs of one group after the other, all others being zero: sums in which a neighbour's scale shows."""
    groups = linear.narrow.scales.shape[1]
    for group in sorted({0, groups // 2, groups - 1}):
        for count in TRIED_ROWS:
            x = torch.zeros(count, wide.shape[1]).to(linear.weight)
            x[:, group * wide.shape[1] // groups : (group + 1) * wide.shape[1] // groups] = 1.0
            x[:, ::2] *= -1
            found = linear(x).float() - (0.0 if linear.bias is None else linear.bias.float())
            expected = x.float() @ wide.t()
            distance, size = float((found - expected).abs().max()), float(expected.abs().max())
            if not distance <= NEAR * size:
                return f"{path}: columns of group {group} give sums that are {distance:.3g} off, of {size:.3g}"
    return ""
