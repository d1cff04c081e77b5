"""A benchmark as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernel_pytorch.models.clock.statistics import Summary
from kernel_pytorch.models.clock.verdict import TimeVerdict
from kernel_pytorch.perf.bench.result import BenchReport, TargetResult


def bench_text(report: BenchReport) -> str:
    """Results, then verdicts."""
    lines: list[str] = [f"note: {note}" for note in report.notes]
    for result in report.results:
        lines += _result(result)
    for verdict in report.verdicts:
        lines += ["", *verdict_lines(verdict)]
    return "\n".join(lines) + "\n"


def _result(result: TargetResult) -> Iterator[str]:
    kind = "device time" if result.device == "gpu" else "CPU time"
    yield f"{result.name}   [{result.device.upper()}: {result.device_name}]"
    yield f"  {kind:<12} {_summary(result.time)}"
    if result.device == "gpu":
        yield f"  {'host time':<12} {_summary(result.host)}"
    bunch = f", {result.calls_per_sample} calls each" if result.calls_per_sample > 1 else ""
    settled = "" if result.warmup_settled else " (not settled)"
    cache = "cold cache" if result.cold_cache else f"inputs rotated through {result.input_copies} copies"
    yield (
        f"  {result.time.samples} samples{bunch} after {result.warmup_calls} warm-up calls{settled}; {cache}; "
        f"{result.dropped_throttled} dropped for throttling"
    )
    compiled = f" (of which {result.compile_ms / 1e3:.2f} s compiling)" if result.compile_ms else ""
    yield f"  first call {result.first_call_ms:.1f} ms{compiled}: not in the figures above"
    more = []
    if result.samples_per_second is not None:
        more.append(f"{result.samples_per_second:,.1f} samples/s")
    if result.tokens_per_second is not None:
        more.append(f"{result.tokens_per_second:,.1f} tokens/s")
    if result.peak_memory_bytes is not None:
        more.append(f"peak memory {result.peak_memory_bytes / 2**20:,.1f} MiB")
    if result.joules_per_call is not None:
        more.append(f"{result.joules_per_call:.4g} J per call")
    if more:
        yield "  " + ", ".join(more)
    if result.time.is_noisy:
        share = 100 * result.time.std_ms / result.time.mean_ms
        yield f"  WARNING: the standard deviation is {share:.0f} % of the mean: do not trust this figure yet"
    for cause in result.causes:
        yield f"    cause: {cause}"
    for note in result.notes:
        yield f"  note: {note}"


def _summary(one: Summary) -> str:
    return (
        f"mean {one.mean_ms:.4f} ms  std {one.std_ms:.4f}  median {one.median_ms:.4f}  p99 {one.p99_ms:.4f}  "
        f"95 % interval {one.low_ms:.4f} to {one.high_ms:.4f}"
    )


def verdict_lines(verdict: TimeVerdict) -> Iterator[str]:
    """The verdict on B against A."""
    change = 100 * (verdict.ratio - 1)
    span = f"{100 * (verdict.low - 1):+.2f} to {100 * (verdict.high - 1):+.2f} %"
    if math.isinf(verdict.high):
        span = "too noisy for an interval"
    yield f"{verdict.b} against {verdict.a}: {verdict.verdict.upper()}"
    yield f"  time {change:+.2f} % ({span}; {verdict.rounds} rounds; margin {100 * verdict.margin:g} %)"
    if verdict.chance_wrong is None:
        yield "  undecided: too much noise to say faster, slower or same; give it more --seconds or a quieter machine"
    else:
        yield f"  chance that this is wrong: {_chance(verdict.chance_wrong)}"
    if not verdict.interleaved:
        yield "  not measured in turns: drift between the two sessions is not part of that chance"


def _chance(chance: float) -> str:
    return "under 0.01 %" if chance < 1e-4 else f"{100 * chance:.2g} %"
