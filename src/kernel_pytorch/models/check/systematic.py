"""Finds errors that are smaller than one rounding but go the same way everywhere, in tensors of 16-bit types.

A norm that divides by n - 1, an epsilon of 1e-3, tanh in place of erf: each element stays within the rounding of
bfloat16, so no limit on elements can see it. Honest differences between two machines are roundings: as often up as
down, whatever the value. So the difference is held against the value: is there a factor (slope), a constant (bias), or,
in some range of values, a mean that is not zero (curve)? The value is the mean of both sides, so that neither side's
rounding takes part in choosing. Elements of a row or a column share intermediate results, so rows and columns count as
the samples, not elements. Errors that go no particular way show in the distance of both sides from float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

# The types it looks at, with their machine epsilon.
NARROW = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
# The chance of an honest tensor being called wrong, for each of its tests: a check makes some ten thousand.
CHANCE = 1e-7
# What is smaller than this share of the type's epsilon is not worth a person's time, however sure it is.
LEAST_SHARE = 1 / 64
# In a range of values: this much of a unit in the last place, on average.
LEAST_UNITS = 0.1
RANGES = 24
LEAST_ELEMENTS = 2048
GROUPS = 64
LEAST_GROUPS = 6


@dataclass(frozen=True)
class OneWay:
    """What goes the same way everywhere: its kind, and a sentence about it."""

    kind: str
    text: str


def systematic(here: Any, recorded: Any, dtype: str) -> OneWay | None:
    """What goes the same way everywhere (float64 tensors of one shape, finite); None where nothing does."""
    import torch

    if dtype not in NARROW or here.numel() < LEAST_ELEMENTS:
        return None
    difference = here - recorded
    if not bool(difference.any()):
        return None
    middle = (here + recorded) / 2
    size = float(middle.pow(2).mean()) ** 0.5
    least = LEAST_SHARE * NARROW[dtype]
    groups = _groupings(here)
    found: list[tuple[float, OneWay]] = []
    slope, sure = _ratio(difference * middle, middle * middle, groups)
    if sure and abs(slope) >= least:
        found.append((abs(slope) / least, OneWay("scale", f"off by one factor, less than a rounding: {1 + slope:.6f}")))
    bias, sure = _ratio(difference, torch.ones_like(middle), groups)
    if sure and abs(bias) >= least * size:
        text = f"off by one constant, less than a rounding: {bias:+.3g} where values are of size {size:.3g}"
        found.append((abs(bias) / (least * size), OneWay("bias", text)))
    if found:
        return max(found, key=lambda one: one[0])[1]
    return _curve(difference, middle, NARROW[dtype], groups)


def _groupings(tensor: Any) -> tuple[Any, ...]:
    """For every element the number of its group: by row, and by column, each at most so many groups."""
    import torch

    count = tensor.numel()
    width = int(tensor.shape[-1]) if tensor.dim() > 1 else 1
    place = torch.arange(count, device=tensor.device)
    if width < 8 or count // width < 8:
        return (place * GROUPS // count,)
    rows = count // width
    return ((place // width) % min(GROUPS, rows), place % width % min(GROUPS, width))


def _ratio(upper: Any, lower: Any, groups: tuple[Any, ...]) -> tuple[float, bool]:
    """The ratio of two sums, and whether it is not zero beyond chance, whichever way the elements are grouped."""
    import torch

    from kernel_pytorch.models.clock.statistics import t_cdf

    total = float(lower.sum())
    if not total:
        return 0.0, False
    ratio = float(upper.sum()) / total
    rest = (upper - ratio * lower).reshape(-1)
    sure = True
    for group in groups:
        sums = torch.zeros(int(group.max()) + 1, dtype=rest.dtype, device=rest.device).index_add_(0, group, rest)
        count = int((torch.bincount(group) > 0).sum())
        if count < LEAST_GROUPS:
            return ratio, False
        error = math.sqrt(float(sums.pow(2).sum()) * count / max(1, count - 1)) / abs(total)
        sure &= error == 0 or 2 * t_cdf(-abs(ratio) / error, count - 1) < CHANCE
    return ratio, sure


def _curve(difference: Any, middle: Any, epsilon: float, groups: tuple[Any, ...]) -> OneWay | None:
    """A range of values in which the difference is not zero on average."""
    import torch

    flat, values = difference.reshape(-1), middle.reshape(-1)
    # Zeros (a mask, a ReLU) have no rounding and no unit.
    places = torch.nonzero(values).reshape(-1)
    if places.numel() < LEAST_ELEMENTS:
        return None
    ordered = places[torch.argsort(values[places])]
    worst: tuple[float, str] | None = None
    for part in torch.tensor_split(ordered, RANGES):
        units = torch.exp2(torch.floor(torch.log2(values[part].abs()))) * epsilon
        share, sure = _ratio(flat[part] / units, torch.ones_like(units), tuple(group[part] for group in groups))
        if sure and abs(share) >= LEAST_UNITS and (worst is None or abs(share) > worst[0]):
            low, high = float(values[part[0]]), float(values[part[-1]])
            worst = (abs(share), f"values from {low:.3g} to {high:.3g} are off by {share:+.2f} units in the last place")
    return None if worst is None else OneWay("curve", f"{worst[1]} on average: another function")
