"""In train mode the referee decides about gradients that lie further apart than the tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.models.check.reference import Reference, call_referee, take_reference
from kernel_pytorch.models.inputs import Inputs

ROWS, TERMS = 8, 640


class InTurn(torch.autograd.Function):
    """x @ weight.T whose gradient of the weight is summed part by part in the weight's own type."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, backwards: bool, factor: float) -> Any:
        ctx.save_for_backward(x, weight)
        ctx.backwards, ctx.factor = backwards, factor
        return x @ weight.T

    @staticmethod
    def backward(ctx: Any, given: Any) -> Any:  # type: ignore[override]
        x, weight = ctx.saved_tensors
        total = torch.zeros_like(weight)
        numbers = range(TERMS)
        for number in reversed(numbers) if ctx.backwards else numbers:
            total = total + given[number::TERMS].T @ x[number::TERMS]
        return given @ weight, total * ctx.factor, None, None


class Summed(nn.Module):
    """Terms that cancel: in bfloat16 the order of the sum shows in the second digit."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.weight = nn.Parameter(torch.randn(32, 64).bfloat16())
        self.backwards, self.factor = False, 1.0

    def forward(self, x: Any) -> Any:
        return InTurn.apply(x, self.weight, self.backwards, self.factor)


@contextmanager
def changed(model: Summed, **values: Any) -> Iterator[Summed]:
    before = {name: getattr(model, name) for name in values}
    for name, value in values.items():
        setattr(model, name, value)
    yield model
    for name, value in before.items():
        setattr(model, name, value)


@pytest.fixture
def reference() -> Reference:
    torch.manual_seed(5)
    taken = take_reference(Summed().train(), Inputs((torch.randn(ROWS * TERMS, 64).bfloat16(),), {}))
    call_referee(taken, stays=True)
    return taken


def against(reference: Reference, **values: Any) -> Any:
    """A candidate of its own: the original with other settings."""
    other = Summed().train()
    with changed(other, **values):
        return reference.compare(other, other)


def test_another_order_of_the_same_roundings_is_right(reference: Reference) -> None:
    found = against(reference, backwards=True)
    assert found.is_right, found.reason
    assert found.difference.error > found.difference.limit, "the difference is within the tolerance: nothing was asked"
    assert "against float64 the original is off by" in found.referee


@pytest.mark.parametrize("factor", [1.1, 0.9])
def test_a_gradient_that_is_off_by_a_factor_is_wrong(reference: Reference, factor: float) -> None:
    found = against(reference, factor=factor)
    assert not found.is_right
    assert "gradient of weight differs by" in found.reason and "against float64" in found.referee


def test_the_referee_is_asked_only_where_it_is_needed(reference: Reference) -> None:
    assert against(reference).is_right and not reference.truths
    against(reference, backwards=True)
    kept = dict(reference.truths)
    assert kept and all(list(one.values) == ["weight"] for one in kept.values())
    against(reference, factor=1.1)
    assert all(reference.truths[key] is one for key, one in kept.items()), "it computed again what it knew"


def test_of_a_model_that_is_changed_in_place_it_is_not_asked(reference: Reference) -> None:
    """What AMDOptimizer compares is the model itself: a referee made of it now would have the fault, too."""
    reference.stays = False
    found = against(reference, backwards=True)
    assert not found.is_right and not found.referee and not reference.truths


def test_a_gradient_that_the_original_has_not_is_wrong() -> None:
    class Unused(nn.Module):
        def __init__(self, is_used: bool) -> None:
            super().__init__()
            torch.manual_seed(6)
            self.used, self.other = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))
            self.is_used = is_used

        def forward(self, x: Any) -> Any:
            return x * self.used + (self.other - self.other.detach() if self.is_used else 0)

    taken = take_reference(Unused(False).train(), Inputs((torch.randn(3, 4),), {}))
    call_referee(taken, stays=True)
    candidate = Unused(True).train()
    found = taken.compare(candidate, candidate)
    assert "gradient of other" in found.reason and "no such gradient" in found.reason


def test_rows_that_nobody_used_do_not_count() -> None:
    """Of an embedding most rows have no gradient: their errors of zero hide no fault."""

    class Words(nn.Module):
        def __init__(self, scale: float = 1.0) -> None:
            super().__init__()
            torch.manual_seed(4)
            self.table = nn.Parameter(torch.randn(500, 8).bfloat16())
            self.scale = scale

        def forward(self, words: Any) -> Any:
            kept = self.table * self.scale + (self.table * (1 - self.scale)).detach()  # the same value
            return kept[words].float().sin().sum()

    taken = take_reference(Words().train(), Inputs((torch.arange(20).view(4, 5) * 7,), {}))
    call_referee(taken, stays=True)
    candidate = Words(1.1).train()
    assert not taken.compare(candidate, candidate).is_right
