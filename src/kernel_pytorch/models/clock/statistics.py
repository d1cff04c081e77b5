"""The arithmetic of measuring: summaries, Student's t, trimmed means. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

CONFIDENCE = 0.95
# One sample in five from either end: a hiccup of the machine is not the program's time.
TRIM = 0.2
# Standard errors by which the dependence of samples is taken higher than it looks, where a verdict rests on it.
CAUTION = 1.6


@dataclass(frozen=True)
class Summary:
    """Milliseconds over samples. The interval is that of the mean, widened where samples depend on each other."""

    samples: int
    mean_ms: float
    std_ms: float
    median_ms: float
    p99_ms: float
    min_ms: float
    low_ms: float
    high_ms: float

    @property
    def is_noisy(self) -> bool:
        """Beyond 10 % of the mean something is wrong."""
        return self.std_ms > 0.1 * self.mean_ms


def summarise(values: Sequence[float]) -> Summary:
    """Mean, spread and a 95 % interval."""
    if not values:
        raise ValueError("no samples")
    ordered = sorted(values)
    count, mean = len(values), math.fsum(values) / len(values)
    std = sample_std(values)
    half = 0.0
    if count > 1:
        independent = effective_count(values)
        half = t_quantile(0.5 + CONFIDENCE / 2, max(1.0, independent - 1)) * std / math.sqrt(independent)
    return Summary(
        count,
        mean,
        std_ms=std,
        median_ms=percentile(ordered, 50),
        p99_ms=percentile(ordered, 99),
        min_ms=ordered[0],
        low_ms=mean - half,
        high_ms=mean + half,
    )


def sample_std(values: Sequence[float]) -> float:
    """Standard deviation with n - 1; 0 for one value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Linear between the neighbours; the values must be sorted."""
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def autocorrelation(values: Sequence[float]) -> float:
    """Of neighbouring samples; 0 where it cannot be told."""
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    if len(values) < 4 or spread == 0:
        return 0.0
    together = math.fsum((a - mean) * (b - mean) for a, b in pairwise(values))
    return together / spread


def effective_count(values: Sequence[float]) -> float:
    """How many independent samples these are worth: a clock that drifts makes neighbours alike."""
    return len(values) / _inflation(_related(values, errors=0.0), len(values))


def cautious_count(values: Sequence[float]) -> float:
    """The same for verdicts, which must not rest on an estimate that came out low by chance.

    Few samples tell little about how they depend on each other: the dependence is taken a standard error and more
    higher than it looks. Dependence that reaches beyond neighbours shows in the spread of the means of whole batches.
    """
    count = len(values)
    inflation = _inflation(_related(values, errors=CAUTION), count)
    return count / max(inflation, min(count / 2, _batch_inflation(values)))


def _related(values: Sequence[float], errors: float) -> float:
    """The correlation of neighbours without the bias that few samples have, plus so many standard errors."""
    count, seen = len(values), autocorrelation(values)
    if count > 3:
        seen = min(1.0, (count * seen + 1) / (count - 3)) if errors else seen
        seen += errors * math.sqrt(max(0.0, 1 - seen * seen) / count)
    return min(0.95 if not errors else 0.99, max(0.0, seen))


def _inflation(related: float, count: int) -> float:
    """By how much dependence makes the variance of a mean larger; two samples are left at least."""
    return min(max(1.0, count / 2), (1 + related) / (1 - related))


def _batch_inflation(values: Sequence[float]) -> float:
    """The variance of the means of batches, over what it were if samples did not depend on each other."""
    size = max(2, math.isqrt(len(values)))
    batches = [values[i : i + size] for i in range(0, len(values) - size + 1, size)]
    spread = sample_std(values)
    if len(batches) < 4 or spread == 0:
        return 1.0
    return float(size * (sample_std([math.fsum(batch) / size for batch in batches]) / spread) ** 2)


@dataclass(frozen=True)
class Estimate:
    """A trimmed mean with its standard error and degrees of freedom (Yuen)."""

    value: float
    error: float
    freedom: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Two-sided."""
        half = t_quantile(0.5 + confidence / 2, self.freedom) * self.error
        return self.value - half, self.value + half

    def chance_below(self, bound: float) -> float:
        """How likely the true value is below `bound`, read off the t distribution."""
        if self.error == 0:
            return 1.0 if self.value < bound else 0.0
        return t_cdf((bound - self.value) / self.error, self.freedom)


def trimmed_estimate(values: Sequence[float], trim: float = TRIM) -> Estimate:
    """Robust against outliers; the error comes from the winsorised spread and the dependence of neighbours."""
    count = len(values)
    ordered = sorted(values)
    cut = int(trim * count)
    kept = ordered[cut : count - cut]
    value = math.fsum(kept) / len(kept)
    low, high = kept[0], kept[-1]
    winsorised = [min(max(one, low), high) for one in values]
    spread = sample_std(winsorised)
    # A hiccup hides how samples depend on each other, and so does cutting their tails off: the worse of both counts.
    worth = min(cautious_count(winsorised), cautious_count(values)) / count
    error = spread / ((1 - 2 * trim) * math.sqrt(count * worth))
    return Estimate(value, error, max(1.0, len(kept) * worth - 1))


def t_cdf(t: float, freedom: float) -> float:
    """Student's t distribution."""
    tail = 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))
    return tail if t < 0 else 1 - tail


def t_quantile(probability: float, freedom: float) -> float:
    """The t with this much probability below it."""
    if not 0 < probability < 1:
        raise ValueError(f"{probability} is not a probability between 0 and 1")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        if t_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 400):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away_from_zero(1 + even * d, tiny)
        c = _away_from_zero(1 + even / c, tiny)
        result *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _away_from_zero(1 + odd * d, tiny)
        c = _away_from_zero(1 + odd / c, tiny)
        step = d * c
        result *= step
        if abs(step - 1) < 1e-14:
            break
    return result


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
