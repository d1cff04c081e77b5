"""Holds a measured time against the roofline: the best possible time, the percentage, and what limits."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.perf.profile import Peaks
from kernel_pytorch.perf.roofline.peaks import peak_tflops
from kernel_pytorch.perf.roofline.work import Work

# Below this a kernel is over before the memory system is warm: its limit is latency, not a rate.
LATENCY_US = 10.0


@dataclass(frozen=True)
class Limit:
    """The verdict on one operator. Times are per call."""

    best_ms: float
    percent: float
    percent_of_achievable: float | None
    limiter: str  # "compute", "memory", "cache" or "latency"
    tflops: float
    gbs: float


def limit(work: Work, measured_ms: float, peaks: Peaks) -> Limit | None:
    """None where nothing was measured or the device's peak for this arithmetic is not known."""
    compute_ms = _compute_ms(work, peak_tflops(peaks, work.arithmetic, work.matrix))
    if measured_ms <= 0 or compute_ms is None or work.flops == work.bytes == 0:
        return None
    memory_ms = work.bytes / (peaks.bandwidth_gbs * 1e6)
    best = max(compute_ms, memory_ms)
    limiter = "compute" if compute_ms >= memory_ms else "memory"
    if limiter == "memory" and best > measured_ms:
        limiter = "cache"  # faster than memory could be: the data were still in L2 or MALL
    elif measured_ms * 1e3 < LATENCY_US and best < measured_ms / 4:
        limiter = "latency"
    return Limit(
        best_ms=best,
        percent=100 * best / measured_ms,
        percent_of_achievable=_achievable(work, measured_ms, peaks, compute_ms, memory_ms),
        limiter=limiter,
        tflops=work.flops / measured_ms / 1e9,
        gbs=work.bytes / measured_ms / 1e6,
    )


def _compute_ms(work: Work, peak: float | None) -> float | None:
    if work.flops == 0:
        return 0.0
    return work.flops / (peak * 1e9) if peak else None


def _achievable(work: Work, measured_ms: float, peaks: Peaks, compute_ms: float, memory_ms: float) -> float | None:
    rate = peaks.achievable.get(work.arithmetic) if work.matrix else None
    if rate is None and peaks.achievable_gbs is None:
        return None
    compute = work.flops / (rate * 1e9) if rate else compute_ms
    memory = work.bytes / (peaks.achievable_gbs * 1e6) if peaks.achievable_gbs else memory_ms
    return 100 * max(compute, memory) / measured_ms
