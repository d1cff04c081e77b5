"""Two benchmarks taken at different times. Weaker than measuring in turns, and it says so."""

from __future__ import annotations

import math

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.clock.statistics import Estimate, trimmed_estimate
from kernel_pytorch.models.clock.verdict import ERROR, TimeVerdict, decide
from kernel_pytorch.perf.bench.result import TargetResult

# Clocks, temperature and neighbours differ between sessions: less than this cannot be told apart.
MARGIN = 0.02


def compare(a: TargetResult, b: TargetResult, margin: float = MARGIN) -> TimeVerdict:
    """B against A from their saved samples (Welch's test on logarithms, trimmed). Raises UsageError across devices."""
    if (a.device, a.device_name) != (b.device, b.device_name):
        raise UsageError(
            f"A was measured on {a.device_name} ({a.device}), B on {b.device_name} ({b.device}): not a regression test"
        )
    if a.cold_cache != b.cold_cache:
        raise UsageError("one was measured with a cold cache, the other without: they cannot be compared")
    first = trimmed_estimate([math.log(value) for value in a.samples_ms])
    second = trimmed_estimate([math.log(value) for value in b.samples_ms])
    variance = first.error**2 + second.error**2
    # Welch and Satterthwaite's degrees of freedom.
    below = first.error**4 / first.freedom + second.error**4 / second.freedom
    freedom = variance**2 / below if below else 1e6
    estimate = Estimate(second.value - first.value, math.sqrt(variance), max(1.0, freedom))
    rounds = min(len(a.samples_ms), len(b.samples_ms))
    return decide(a.name, b.name, estimate, rounds, margin=margin, error=ERROR, interleaved=False)
