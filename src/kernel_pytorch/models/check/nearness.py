"""Is a candidate as near to the truth as the original was? The truth is what the referee computed.

Two honest results in 16 bits can lie further apart than any tolerance: where a router or an argmax meets a tie, one
rounding sends a token to another expert. Both are then as far from the truth as the format makes them. So beyond the
tolerance the truth decides, not the original: by the error over all elements, by the worst element, and by whether the
candidate is off in the same direction everywhere, which rounding never is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.models.check.systematic import systematic

if TYPE_CHECKING:
    from torch import Tensor

# Another order of the same roundings moves the rms error by a few per cent, and the worst of many elements by more.
_RMS, _WORST = 1.25, 1.5
# A row this many times as far off as the usual one has met a tie. How many do is a matter of chance: two counts may
# differ by so many standard deviations.
_TIED, _DEVIATIONS = 8.0, 2.5


@dataclass(frozen=True)
class Nearness:
    """How far the original and the candidate are off the truth, over the size of the truth.

    `usual` is the error of the middle row, `tied` how many rows are far further off than the original's middle one."""

    before: float
    after: float
    worst_before: float
    worst_after: float
    usual_before: float
    usual_after: float
    tied_before: int
    tied_after: int

    @property
    def is_nearer(self) -> bool:
        """The candidate is the better answer of the two."""
        return self.after <= self.before

    @property
    def is_about_as_near(self) -> bool:
        """No further off than another order of the same roundings explains."""
        if self.worst_after > _WORST * self.worst_before:
            return False
        if self.after <= _RMS * self.before:
            return True
        spread = _DEVIATIONS * math.sqrt(self.tied_before + self.tied_after)
        same_ties = self.tied_before > 0 and self.tied_after <= self.tied_before + spread
        return same_ties and self.usual_after <= _RMS * self.usual_before


@dataclass(frozen=True)
class Answers:
    """One output on one set of inputs: the original's, the candidate's, the referee's."""

    old: Tensor
    new: Tensor
    truth: Tensor

    @property
    def can_be_weighed(self) -> bool:
        """Floating-point tensors of one shape that are finite in the same places."""
        import torch

        old, new = self.old, self.new
        alike = old.is_floating_point() and old.dtype == new.dtype and old.shape == new.shape == self.truth.shape
        return bool(alike and torch.equal(torch.isfinite(old), torch.isfinite(new)))


def nearness(sets: Sequence[Answers]) -> Nearness | None:
    """Over one output on all sets of inputs together; None where the referee has no word on it."""
    import torch

    if not sets or not all(one.can_be_weighed for one in sets):
        return None
    rows = [_row_errors(one) for one in sets]
    before, after, count, worst_before, worst_after, size = (torch.cat(part) for part in zip(*rows, strict=True))
    total = float(size.sum())
    if not total:
        return None
    scale = math.sqrt(total / float(count.sum()))
    each_before, each_after = ((one / count.clamp(min=1)).sqrt() / scale for one in (before, after))
    usual = float(each_before.median())
    return Nearness(
        math.sqrt(float(before.sum()) / total),
        math.sqrt(float(after.sum()) / total),
        float(worst_before.max()) / scale,
        float(worst_after.max()) / scale,
        usual,
        float(each_after.median()),
        int((each_before > _TIED * usual).sum()),
        int((each_after > _TIED * usual).sum()),
    )


def _row_errors(answers: Answers) -> tuple[Tensor, ...]:
    """By row (all but the last axis): squares of both errors, elements, worst of both, squares of the truth."""
    import torch

    width = answers.old.shape[-1] if answers.old.dim() else 1
    old, new, truth = (
        one.double().to(answers.old.device).reshape(-1, width) for one in (answers.old, answers.new, answers.truth)
    )
    usual = torch.isfinite(old) & torch.isfinite(truth)
    before, after = ((one - truth).masked_fill(~usual, 0.0) for one in (old, new))
    return (
        before.square().sum(1),
        after.square().sum(1),
        usual.sum(1),
        before.abs().amax(1),
        after.abs().amax(1),
        truth.masked_fill(~usual, 0.0).square().sum(1),
    )


def off_one_way(sets: Sequence[Answers]) -> str:
    """What the candidate gets wrong in the same direction everywhere, and the original does not; empty where nothing.

    A factor, a constant, another function: faults that can be as small as the roundings they hide among."""
    for one in sets:
        dtype = str(one.old.dtype).removeprefix("torch.")
        truth = one.truth.double().to(one.new.device)
        found = systematic(one.new.double(), truth, dtype)
        if found is not None and systematic(one.old.double(), truth, dtype) is None:
            return found.text
    return ""


def misses_no_more(sets: Sequence[Answers]) -> bool:
    """For whole numbers (an argmax, the places of a top-k): the candidate misses as few of the truth's as the original,
    or so few more that chance explains it. An original that misses none allows none: it meets ties, too."""
    missed_before = missed_after = 0
    for one in sets:
        old, new = one.old, one.new
        if old.is_floating_point() or old.dtype != new.dtype or not old.shape == new.shape == one.truth.shape:
            return False
        truth = one.truth.to(old.device)
        missed_before += int((old != truth).sum())
        missed_after += int((new != truth).sum())
    spread = _DEVIATIONS * math.sqrt(missed_before + missed_after)
    return missed_after <= (missed_before + spread if missed_before else 0)
