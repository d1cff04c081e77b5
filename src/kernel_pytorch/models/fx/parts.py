"""A change proven by itself, on random data of its own shapes, where there is no example of the whole model."""

from __future__ import annotations

from kernel_pytorch.models.check.conditions import WITHOUT_DROPOUT
from kernel_pytorch.models.check.reference import Checked, call_referee, take_reference
from kernel_pytorch.models.comparison import Difference
from kernel_pytorch.models.fx.rewrite import Change


def proven(change: Change, *, exact: bool) -> Checked:
    """The referee's word on one change. A change that brings no part to prove it by is refused."""
    part = change.part
    if part is None:
        return Checked("it brings no part to prove it by", Difference(float("inf"), 0.0, change.where))
    reference = take_reference(part.original, part.inputs, conditions=WITHOUT_DROPOUT)
    call_referee(reference)
    return reference.compare(part.candidate, part.original, exact=exact)
