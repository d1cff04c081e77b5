"""faster, slower, same or undecided, with the chance of being wrong.

A and B are measured in turns; each round gives one ratio B / A, in which whatever the machine did to both cancels.
"Same" needs proof, too: the interval of the ratio must lie inside the margin. Rounds that follow each other are alike
(clocks, temperature), which `statistics.cautious_count` takes into account. Looking again and again at growing data
makes chance findings likelier: the allowed error is spread over all looks that there may ever be, the k-th getting
1 / k (k + 1) of it, and the reported chance is multiplied accordingly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.models.clock.statistics import Estimate, trimmed_estimate

MARGIN = 0.01
ERROR = 0.01
MIN_ROUNDS = 10


@dataclass(frozen=True)
class TimeVerdict:
    """B against A. `ratio` is B's time over A's; the interval is `confidence` wide, corrected for the looks taken."""

    a: str
    b: str
    verdict: str  # of B: "faster", "slower", "same" or "undecided"
    ratio: float
    low: float
    high: float
    chance_wrong: float | None  # None for undecided: nothing is claimed
    rounds: int
    margin: float
    interleaved: bool = True


def judge(
    a: str, b: str, log_ratios: Sequence[float], *, margin: float = MARGIN, error: float = ERROR, looks: int = 1
) -> TimeVerdict:
    """The verdict on logarithms of B / A, in the order of the rounds. `looks`: which look at the data this is."""
    if len(log_ratios) < MIN_ROUNDS:
        return TimeVerdict(a, b, "undecided", _exp(_mean(log_ratios)), 0.0, math.inf, None, len(log_ratios), margin)
    parts = looks * (looks + 1)
    return decide(a, b, trimmed_estimate(log_ratios), len(log_ratios), margin=margin, error=error, parts=parts)


def decide(
    a: str,
    b: str,
    estimate: Estimate,
    rounds: int,
    *,
    margin: float,
    error: float,
    parts: int = 1,
    interleaved: bool = True,
) -> TimeVerdict:
    """The verdict on an estimate of log(B / A). `parts`: the allowed error is divided by this."""
    low, high = estimate.interval(1 - error / parts)
    limit = math.log1p(margin)
    verdict, chance = "undecided", None
    if -limit < low and high < limit:
        verdict = "same"
        chance = max(estimate.chance_below(-limit), 1 - estimate.chance_below(limit))
    elif low > 0 and estimate.value >= limit:
        verdict, chance = "slower", estimate.chance_below(0.0)
    elif high < 0 and estimate.value <= -limit:
        verdict, chance = "faster", 1 - estimate.chance_below(0.0)
    return TimeVerdict(
        a, b, verdict, _exp(estimate.value), _exp(low), _exp(high),
        None if chance is None else min(1.0, chance * parts), rounds, margin, interleaved,
    )  # fmt: skip


def _exp(value: float) -> float:
    """A few rounds on a busy machine can leave an interval too wide for a float: it has no end then."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
