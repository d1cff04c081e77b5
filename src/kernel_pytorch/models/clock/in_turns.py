"""Is a changed model faster? It and the one before, measured in turns."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.clock.device import Device
from kernel_pytorch.models.clock.rounds import Contender, Sampling, take_rounds, verdicts, warm_up
from kernel_pytorch.models.clock.sensors import Sensors, sensors_of
from kernel_pytorch.models.clock.statistics import Summary, summarise

FASTER, SLOWER = "faster", "slower"
# Less than this is not worth a change that somebody has to understand.
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

    @property
    def is_slower(self) -> bool:
        """Beyond the noise and the margin."""
        return self.verdict == SLOWER

    def why_not_faster(self) -> str:
        """The reason to leave it, with the figures."""
        if self.verdict == FASTER:
            # Each round compares two samples side by side; a few long ones, as on a busy machine, move only the means.
            return f"too noisy to tell: most rounds are faster and the means are not: {self.in_words()}"
        word = "slower" if self.is_slower else "not faster by more than the noise"
        return f"{word}: {self.in_words()}"

    def in_words(self) -> str:
        """Both mean times, and the ratio by rounds with its interval."""
        interval = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.before_ms:.4g} -> {self.after_ms:.4g} ms, x{self.ratio:.3f}{interval}"


def compare_in_turns(before: Contender, after: Contender, device: Device | None, seconds: float) -> Comparison:
    """Rounds in alternating order until the verdict stands or about `seconds` are over.

    `device` is that of this process; None where the calls are in others."""
    sampling = Sampling(seconds=max(0.5, 0.7 * seconds), warmup_seconds=max(0.2, 0.15 * seconds), margin=MARGIN)
    both = (before, after)
    warm_up(both, sampling)
    looks = take_rounds(both, Sensors() if device is None else sensors_of(device), sampling)
    (verdict,) = verdicts(both, sampling, looks)
    first, second = summary_of(before), summary_of(after)
    known = math.isfinite(verdict.high)
    return Comparison(
        before_ms=first.mean_ms,
        after_ms=second.mean_ms,
        ratio=verdict.ratio,
        low=verdict.low if known else None,
        high=verdict.high if known else None,
        verdict=verdict.verdict,
        rounds=verdict.rounds,
        before_interval=(first.low_ms, first.high_ms),
        after_interval=(second.low_ms, second.high_ms),
        memory_before_bytes=peak_memory(before, device),
        memory_after_bytes=peak_memory(after, device),
    )


def summary_of(contender: Contender) -> Summary:
    """Mean and spread of its samples. Raises UsageError where all were dropped."""
    if not contender.samples:
        raise UsageError(
            f"{contender.name}: all {contender.dropped} samples were taken while the device throttled: cool it down"
        )
    return summarise(contender.times_ms)


def peak_memory(contender: Contender, device: Device | None) -> int | None:
    """The most memory that torch's allocator held during one call; None on a CPU."""
    if device is None or not device.is_gpu:
        return None
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    contender.call()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated())
