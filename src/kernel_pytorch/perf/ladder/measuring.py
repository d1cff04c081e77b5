"""Candidate against best so far, measured in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kernel_pytorch.models.clock.as_used import as_used
from kernel_pytorch.models.clock.device import Timer
from kernel_pytorch.models.clock.in_turns import Comparison, compare_in_turns
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.bench.target import Target

if TYPE_CHECKING:
    from torch import nn


class Measure(Protocol):
    """Compares two calls within about `seconds`."""

    def __call__(self, before: Target, after: Target, seconds: float) -> Comparison: ...


def measure_in_turns(before: Target, after: Target, seconds: float) -> Comparison:
    """Rounds in alternating order until the verdict stands or time is up."""
    from kernel_pytorch.perf.bench.placement import device_for
    from kernel_pytorch.perf.bench.run import contender_of

    device = device_for([before, after])
    first, second = (contender_of(one, device, Timer(device)) for one in (before, after))
    return compare_in_turns(first, second, device, seconds)


def target_for(name: str, function: Callable[..., Any], model: nn.Module, inputs: Inputs) -> Target:
    """A call as in use."""
    return Target(name, as_used(function, model, inputs), inputs.args, inputs.kwargs)
