"""Is the model faster with a change than without? Both in turn, in the same run, until the noise is small."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FEWEST_ROUNDS, MOST_ROUNDS = 9, 60
WARM_UP = 3
# Short calls are timed several at a time: a single one is mostly the wait for its first kernel.
SAMPLE_MS = 2.0
MOST_CALLS = 20
LONGEST_S = 2.0
# Below this, a difference is taken for noise, however steady the samples look.
SMALLEST_DIFFERENCE = 0.01


@dataclass(frozen=True)
class Timing:
    """Milliseconds without and with a change; `noise` is how far their ratio may be off, at 95 %."""

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
    calls = {}
    for state in (False, True):
        switch(state)
        for _ in range(WARM_UP):
            run()
        calls[state] = max(1, min(MOST_CALLS, math.ceil(SAMPLE_MS / max(_milliseconds(run, device, 1), 1e-3))))
    samples: dict[bool, list[float]] = {False: [], True: []}
    start = time.perf_counter()
    while True:
        for state in (False, True):
            switch(state)
            samples[state].append(_milliseconds(run, device, calls[state]))
        ratios = [after / before for before, after in zip(samples[False], samples[True], strict=True)]
        noise = median_noise(ratios)
        rounds = len(ratios)
        steady = noise <= SMALLEST_DIFFERENCE / 2 or time.perf_counter() - start > LONGEST_S
        if rounds >= MOST_ROUNDS or (rounds >= FEWEST_ROUNDS and steady):
            break
    before = statistics.median(samples[False])
    return Timing(before, before * statistics.median(ratios), noise)


def median_noise(values: list[float]) -> float:
    """Half the width of the 95 % interval of the median, from the order of the values alone."""
    ordered, count = sorted(values), len(values)
    reach = int(0.98 * math.sqrt(count)) + 1
    low, high = max(0, count // 2 - reach), min(count - 1, count // 2 + reach)
    return (ordered[high] - ordered[low]) / 2


def _milliseconds(run: Callable[[], Any], device: Any, calls: int) -> float:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    for _ in range(calls):
        run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return (time.perf_counter() - start) * 1e3 / calls
