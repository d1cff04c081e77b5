"""Rungs that give up precision on purpose: how far from the original results may be with them, and how far they are.

With such a rung in a recipe the usual tolerance says nothing. Then all outputs together are compared: the root mean
square of the difference over that of the original, and how often the highest of the last axis is still the same one
(for scores of words: how often the same word would be taken).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.check.reference import Checked, Reference
from kernel_pytorch.perf.ladder.rung import Recipe, Rung

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Apart:
    """Over all sets of inputs and all floating-point outputs, the worst of them."""

    share: float
    same_highest: float

    def in_words(self) -> str:
        return (
            f"outputs are {self.share:.2%} apart from the original's (root mean square), "
            f"the highest of a row is the same in {self.same_highest:.1%}"
        )


def allowed(recipe: Recipe, known: Iterable[Rung]) -> float:
    """What the loosest rung of a recipe allows; 0 where all are held to the usual tolerance."""
    by_name = {one.name: one for one in known}
    return max((getattr(by_name.get(step.rung), "loosens", 0.0) for step in recipe), default=0.0)


def judged(
    checked: Checked, reference: Reference, function: Callable[..., Any], owner: nn.Module, share: float
) -> Checked:
    """The same verdict, or where `share` is allowed, the one that follows from all outputs together."""
    if not share or reference.training:
        return checked
    found = apart(reference, function, owner)
    words = f"{found.in_words()}; {share:.0%} are allowed"
    return Checked("" if found.share <= share else words, checked.difference, words)


def apart(reference: Reference, function: Callable[..., Any], owner: nn.Module) -> Apart:
    """How far the candidate is from the original."""
    worst, same = 0.0, 1.0
    for inputs, old in zip(reference.sets, reference.expected, strict=True):
        new = reference.run(function, inputs, owner)
        if len(new.outputs) != len(old.outputs):
            return Apart(float("inf"), 0.0)
        for before, after in zip(old.outputs, new.outputs, strict=True):
            if not before.is_floating_point() or before.shape != after.shape or not before.numel():
                continue
            wide, off = before.double(), (after.double() - before.double())
            size = float(wide.pow(2).mean().sqrt())
            share = float(off.pow(2).mean().sqrt()) / size if size else float(off.abs().max())
            worst = max(worst, share if share == share else float("inf"))
            if before.dim():
                same = min(same, float((wide.argmax(-1) == after.double().argmax(-1)).double().mean()))
    return Apart(worst, same)
