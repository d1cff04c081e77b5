"""What the referee says of a model in train mode: of outputs and gradients that differ by more than the tolerance.

A gradient in bf16 sums thousands of tokens, so that two honest orders of the sums can lie further apart than the
tolerance. The referee's own gradients take four times the memory of bf16's: it computes them for one set of inputs at a
time and keeps those that somebody asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kernel_pytorch.models.check.higher_precision import hear_referee
from kernel_pytorch.models.check.nearness import Answers
from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

Place: TypeAlias = "int | str"
"""The number of an output, or the name of a parameter for its gradient."""


@dataclass(frozen=True)
class Run:
    """What one run gave: the tensors of the output, and in train mode the gradients of the parameters."""

    outputs: tuple[Tensor, ...]
    gradients: Mapping[str, Tensor]

    def at(self, place: Place) -> Tensor | None:
        """An output or a gradient; None for that of a parameter that took no part."""
        return self.gradients.get(place) if isinstance(place, str) else self.outputs[place]


@dataclass(frozen=True)
class Truths:
    """The referee's outputs and gradients for one set of inputs; `why_none` where it could not be heard."""

    values: Mapping[Place, Tensor] = field(default_factory=dict)
    precision: str = ""
    why_none: str = ""


def truths_in_training(
    model: nn.Module, inputs: Inputs, wanted: tuple[Place, ...], expected: Run, run: Callable[[nn.Module, Inputs], Run]
) -> Truths:
    """Run forward and backward once more in higher precision, for the places that are wanted."""
    places = tuple(one for one in wanted if expected.at(one) is not None)
    if not places:
        return Truths(why_none="the original has no such gradient")

    def chosen(found: Run) -> tuple[Tensor, ...]:
        return tuple(item for one in places if (item := found.at(one)) is not None)

    referee = hear_referee(model, (inputs,), lambda twin, given: chosen(run(twin, given)), (chosen(expected),))
    if not referee.outputs:
        return Truths(why_none=referee.why_none)
    return Truths(dict(zip(places, referee.outputs[0], strict=True)), referee.precision)


def touched(old: Tensor, new: Tensor, truth: Tensor) -> Answers:
    """The rows that have a gradient: most of an embedding's have none, and would count as rows without any error."""
    truth = truth.to(old.device)
    if old.dim() < 2 or old.shape != new.shape or old.shape != truth.shape:
        return Answers(old, new, truth)
    rows = [one.reshape(len(one), -1) for one in (old, new, truth)]
    some = (rows[0] != 0).any(1) | (rows[1] != 0).any(1) | (rows[2] != 0).any(1)
    return Answers(*(one[some] for one in rows))
