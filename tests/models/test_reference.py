"""The comparison with the original: tolerance by type, and the referee's word on who is off."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.core.errors import AMDOptimizationError
from kernel_pytorch.models.check.reference import Checked, Reference, call_referee, take_reference
from kernel_pytorch.models.inputs import Inputs
from tests.perf.ladder.made import Model


def reference(
    model: nn.Module, *args: torch.Tensor, allow: frozenset[str] = frozenset(), referee: bool = True
) -> Reference:
    made = take_reference(model, Inputs(args), allow)
    if referee:
        call_referee(made)
    return made


def compared(made: Reference, change: Any) -> Checked:
    return made.compare(lambda *args: change(made.model(*args)), made.model)


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return Model().eval()


X = torch.randn(8, 16, generator=torch.Generator().manual_seed(1))


def test_the_original_is_right_on_three_sets_of_inputs(model: nn.Module) -> None:
    made = reference(model, X)
    assert len(made.sets) == 3 and made.sets[-1].args[0] is X
    assert made.referee.precision == "float64"
    assert compared(made, lambda y: y).is_right


@pytest.mark.parametrize(
    ("dtype", "right", "wrong"),
    [(torch.float32, 1e-6, 1e-3), (torch.bfloat16, 1e-3, 0.1), (torch.float64, 1e-12, 1e-7)],
)
def test_tolerance_by_type(model: nn.Module, dtype: torch.dtype, right: float, wrong: float) -> None:
    made = reference(model.to(dtype), X.to(dtype), referee=False)
    assert compared(made, lambda y: (y.double() * (1 + right)).to(dtype)).is_right
    checked = compared(made, lambda y: (y.double() * (1 + wrong)).to(dtype))
    assert "differs by" in checked.reason


def test_tf32_needs_permission(model: nn.Module) -> None:
    off = 5e-4
    assert not compared(reference(model, X), lambda y: y * (1 + off)).is_right
    assert compared(reference(model, X, allow=frozenset({"tf32"})), lambda y: y * (1 + off)).is_right


def test_the_referee_refuses_lost_precision_within_the_tolerance(model: nn.Module) -> None:
    """bf16 allows two percent of the largest value; one percent everywhere is still a loss."""
    made = reference(model.to(torch.bfloat16), X.to(torch.bfloat16))
    checked = compared(made, lambda y: (y.float() * 1.015).to(torch.bfloat16))
    assert checked.difference.is_acceptable
    assert "lost precision: against float64 the original is off by" in checked.reason


def test_the_referee_tells_when_the_original_is_the_one_that_is_off() -> None:
    class Cancelling(nn.Module):
        """In fp32 the large number swallows the small one; summed the other way it does not."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + 1e6) - 1e6

    made = reference(Cancelling().eval(), X)
    checked = made.compare(lambda x: x.clone(), made.model)
    assert not checked.difference.is_acceptable
    assert checked.is_right and "the original is the one that is off" in checked.referee


def test_a_referee_that_computes_something_else_is_not_heard() -> None:
    class Typed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.dtype == torch.float32 else -x

    made = reference(Typed().eval(), X)
    assert "in float64 it computes something else (200 % off)" in made.referee.why_none
    assert "(no referee: " in made.compare(lambda x: x + 1, made.model).reason


def test_a_model_that_casts_inside_has_no_referee(model: nn.Module) -> None:
    class Casting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(16, 16, dtype=torch.bfloat16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.bfloat16) @ self.weight

    made = reference(Casting().eval(), X)
    assert "it fails in float64" in made.referee.why_none
    assert compared(made, lambda y: y).is_right


def test_another_number_of_outputs(model: nn.Module) -> None:
    assert "1 output tensors became 2" in compared(reference(model, X), lambda y: (y, y)).reason


def test_whole_numbers_must_be_equal(model: nn.Module) -> None:
    class Choosing(Model):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).argmax(-1)

    made = reference(Choosing().eval(), X)
    assert compared(made, lambda y: y).is_right
    assert compared(made, lambda y: (y + 1) % 5).reason == "output 0 is not what it was"


def test_a_model_that_takes_no_other_inputs_is_checked_on_its_own() -> None:
    class Picky(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not torch.equal(x, X):
                raise ValueError("not that one")
            return x * 2

    made = reference(Picky().eval(), X)
    assert len(made.sets) == 1 and "on the given inputs only" in made.notes[0]


def test_randomness_in_eval_mode_is_noted() -> None:
    class Noisy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.randn_like(x)

    made = take_reference(Noisy().eval(), Inputs((X,)))
    assert "draws random numbers" in made.notes[0]


def test_an_output_without_tensors() -> None:
    class Empty(nn.Module):
        def forward(self, x: torch.Tensor) -> int:
            return 3

    with pytest.raises(AMDOptimizationError, match="holds no tensor"):
        take_reference(Empty().eval(), Inputs((X,)))


def test_a_call_that_writes_into_its_inputs() -> None:
    class Writing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.add_(1)

    given = X.clone()
    made = take_reference(Writing().eval(), Inputs((given,)))
    assert made.compare(lambda x: x + 1, made.model).is_right
    assert torch.equal(given, X)
