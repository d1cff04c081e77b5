"""Is the model faster with a change than without? Both in turn, in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROUNDS = 9
WARM_UP = 3
# Below this, a difference is taken for noise, however steady the samples look.
SMALLEST_DIFFERENCE = 0.02


@dataclass(frozen=True)
class Timing:
    """Milliseconds without and with a change."""

    before_ms: float
    after_ms: float
    noise: float

    @property
    def is_faster(self) -> bool:
        return self.after_ms < self.before_ms * (1 - max(self.noise, SMALLEST_DIFFERENCE))

    @property
    def is_slower(self) -> bool:
        return self.after_ms > self.before_ms * (1 + max(self.noise, SMALLEST_DIFFERENCE))

    def in_words(self, device: str) -> str:
        return f"{self.before_ms:.3g} ms -> {self.after_ms:.3g} ms ({self.before_ms / self.after_ms:.2f}x) on {device}"


def compare(run: Callable[[], Any], switch: Callable[[bool], None], device: Any) -> Timing:
    """Time `run` with the change switched off and on, alternating. The change is on afterwards."""
    samples: dict[bool, list[float]] = {False: [], True: []}
    for state in (False, True):
        switch(state)
        for _ in range(WARM_UP):
            run()
    for _ in range(ROUNDS):
        for state in (False, True):
            switch(state)
            samples[state].append(_milliseconds(run, device))
    before, after = statistics.median(samples[False]), statistics.median(samples[True])
    spreads = [_spread(values) for values in samples.values()]
    return Timing(before, after, max(spreads))


def _milliseconds(run: Callable[[], Any], device: Any) -> float:
    import torch

    if device.type != "cuda":
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize(device)
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize(device)
    return float(begin.elapsed_time(end))


def _spread(values: list[float]) -> float:
    """Median distance from the median, relative, and scaled so that it stands for the noise of a median."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values) / middle if middle else 0.0
