"""Candidate against best so far, measured in turns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kernel_pytorch.models.comparison import tensors_in
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.bench.target import Target

if TYPE_CHECKING:
    from torch import nn

FASTER = "faster"
# Less than this is not worth a rung that somebody has to understand.
MARGIN = 0.01


@dataclass(frozen=True)
class Comparison:
    """B against A. Times are means with a 95 % interval; `ratio` is B over A with the interval the verdict rests on."""

    before_ms: float
    after_ms: float
    ratio: float
    low: float | None
    high: float | None  # None: too few rounds for an interval
    verdict: str  # faster, slower, same, undecided
    rounds: int
    before_interval: tuple[float, ...] = ()
    after_interval: tuple[float, ...] = ()
    memory_before_bytes: int | None = None
    memory_after_bytes: int | None = None

    @property
    def is_faster(self) -> bool:
        """Beyond the noise and the margin, and by the means as well as by the rounds."""
        return self.verdict == FASTER and self.after_ms < self.before_ms

    def why_not_faster(self) -> str:
        """The reason to leave it, with the figures."""
        if self.verdict == FASTER:
            # Each round compares two samples side by side; a few long ones, as on a busy machine, move only the means.
            return f"too noisy to tell: most rounds are faster and the means are not: {self.in_words()}"
        word = "slower" if self.verdict == "slower" else "not faster beyond the noise"
        return f"{word}: {self.in_words()}"

    def in_words(self) -> str:
        """Both mean times, and the ratio by rounds with its interval."""
        interval = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.before_ms:.4g} -> {self.after_ms:.4g} ms, x{self.ratio:.3f}{interval}"


class Measure(Protocol):
    """Compares two calls within about `seconds`."""

    def __call__(self, before: Target, after: Target, seconds: float) -> Comparison: ...


def measure_in_turns(before: Target, after: Target, seconds: float) -> Comparison:
    """perf.bench: rounds in alternating order until the verdict stands or time is up."""
    from kernel_pytorch.models.clock.sensors import sensors_of
    from kernel_pytorch.perf.bench.placement import device_for
    from kernel_pytorch.perf.bench.run import Settings, measure

    device = device_for([before, after])
    settings = Settings(
        seconds=max(0.5, 0.7 * seconds), warmup_seconds=max(0.2, 0.15 * seconds), margin=MARGIN, energy_seconds=0.0
    )
    (first, second), (verdict,) = measure([before, after], device, sensors_of(device), settings)
    return Comparison(
        before_ms=first.time.mean_ms,
        after_ms=second.time.mean_ms,
        ratio=verdict.ratio,
        low=verdict.low if math.isfinite(verdict.high) else None,
        high=verdict.high if math.isfinite(verdict.high) else None,
        verdict=verdict.verdict,
        rounds=verdict.rounds,
        before_interval=(first.time.low_ms, first.time.high_ms),
        after_interval=(second.time.low_ms, second.time.high_ms),
        memory_before_bytes=first.peak_memory_bytes,
        memory_after_bytes=second.peak_memory_bytes,
    )


def target_for(name: str, function: Callable[..., Any], model: nn.Module, inputs: Inputs) -> Target:
    """A call as in use, and the other calls after it: forward without gradients, or, in train mode, with backward."""
    import torch

    def infer(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            for other in inputs.others:
                other.call(function)
            return function(*args, **kwargs)

    def train(*args: Any, **kwargs: Any) -> Any:
        called = [function(*args, **kwargs), *(other.call(function) for other in inputs.others)]
        outputs = [item for item in tensors_in(called) if item.requires_grad]
        wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if outputs and wanted:  # gradients the user has gathered so far are not touched
            torch.autograd.grad([item.sum() for item in outputs], wanted, allow_unused=True)

    return Target(name, train if model.training else infer, inputs.args, inputs.kwargs)
