"""Measures one or more targets in turns and judges them.

Order: first call (compilation, reported apart), warm-up until times settle, then rounds. In a round every target gets
one sample; the order changes (`in_turn`), so that nobody always comes after the same. Rounds go on until the verdicts
stand or the noise allows no more, or time is up.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kernel_pytorch.core.entry_point import blaming
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.clock.device import Device, Sample, Timer
from kernel_pytorch.models.clock.rotated import input_notes, rotated_calls
from kernel_pytorch.models.clock.sensors import Sensors
from kernel_pytorch.models.clock.statistics import effective_count, percentile, sample_std, summarise, t_quantile
from kernel_pytorch.models.clock.verdict import MARGIN, Verdict, judge
from kernel_pytorch.perf.bench.causes import Counters, likely_causes, read_counters
from kernel_pytorch.perf.bench.result import TargetResult
from kernel_pytorch.perf.bench.target import Target

MIN_WARMUP = 3
MIN_SAMPLES = 10

_T = TypeVar("_T")


@dataclass(frozen=True)
class Settings:
    """How to measure. `samples` are at least taken; `seconds` bound the rounds of all targets together."""

    warmup: int = MIN_WARMUP
    samples: int = MIN_SAMPLES
    seconds: float = 10.0
    warmup_seconds: float = 5.0
    # A GPU at rest takes a while to reach its clock: neither warm-up nor sampling is over before this.
    least_warmup_seconds: float = 0.3
    least_seconds: float = 0.5
    margin: float = MARGIN
    cold_cache: bool = False
    # A single target is known well enough when its mean is known this well.
    precision: float = 0.01
    least_sample_ms: float = 1.0
    energy_seconds: float = 0.5


@dataclass
class _Runner:
    target: Target
    calls: list[Callable[[], object]]
    first_call_ms: float = 0.0
    compile_ms: float = 0.0
    warmup_calls: int = 0
    settled: bool = False
    calls_per_sample: int = 1
    dropped: int = 0
    power_capped: int = 0
    samples: list[Sample] = field(default_factory=list)
    turn: int = 0

    def next_call(self) -> Callable[[], object]:
        """The call with the next set of inputs."""
        self.turn += 1
        return self.calls[self.turn % len(self.calls)]

    def many(self) -> Callable[[], object]:
        """Goes through the inputs by itself, for samples of several calls."""
        return lambda: self.next_call()()


def measure(
    targets: list[Target], device: Device, sensors: Sensors, settings: Settings
) -> tuple[tuple[TargetResult, ...], tuple[Verdict, ...]]:
    """Results of every target, and verdicts of every other target against the first."""
    timer = Timer(device, settings.cold_cache)
    runners = [_Runner(target, rotated_calls(target, device.flush_bytes // 2)) for target in targets]
    for runner in runners:
        _first_call(runner, timer)
    for runner in runners:
        _warm_up(runner, timer, settings)
    before = read_counters(device.is_gpu)
    looks = _rounds(runners, timer, sensors, settings)
    after = read_counters(device.is_gpu)
    verdicts = _verdicts(runners, settings, looks)
    results = tuple(_result(runner, device, sensors, settings, timer, before, after) for runner in runners)
    return results, verdicts


def _first_call(runner: _Runner, timer: Timer) -> None:
    compiled = _compile_seconds()
    started = time.perf_counter()
    with blaming(runner.target.name):
        runner.calls[0]()
        timer.wait()
    runner.first_call_ms = (time.perf_counter() - started) * 1e3
    runner.compile_ms = (_compile_seconds() - compiled) * 1e3


def _compile_seconds() -> float:
    """What torch.compile has spent so far by its own account; 0 where it was never used."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    metrics = getattr(dynamo, "compilation_time_metrics", {})
    return float(sum(metrics.get("_compile.compile_inner", []) or metrics.get("entire_frame_compile", [])))


def _warm_up(runner: _Runner, timer: Timer, settings: Settings) -> None:
    """At least `warmup` calls, then until two windows of five agree within 2 %."""
    times: list[float] = []
    began = time.perf_counter()
    deadline = began + settings.warmup_seconds
    while True:
        times.append(timer.sample(runner.next_call()).main_ms)
        if len(times) >= max(settings.warmup, 10) and time.perf_counter() - began >= settings.least_warmup_seconds:
            last, before = sorted(times[-5:])[2], sorted(times[-10:-5])[2]
            if abs(last - before) <= 0.02 * before:
                runner.settled = True
                break
        if time.perf_counter() > deadline and len(times) >= settings.warmup:
            break
    runner.warmup_calls = len(times) + 1
    typical = sorted(times[-5:])[len(times[-5:]) // 2]
    # With a flush before every sample one call is all there is; otherwise short calls are measured in bunches.
    if not settings.cold_cache:
        runner.calls_per_sample = max(1, min(1000, math.ceil(settings.least_sample_ms / max(typical, 1e-4))))
    timer.sample(runner.many(), runner.calls_per_sample)


def _rounds(runners: list[_Runner], timer: Timer, sensors: Sensors, settings: Settings) -> int:
    began = time.perf_counter()
    deadline = began + settings.seconds
    looks = 0
    next_look = settings.samples
    number = 0
    while True:
        order = in_turn(runners, number)
        taken = {id(runner): timer.sample(runner.many(), runner.calls_per_sample) for runner in order}
        number += 1
        if sensors.throttled is not None and sensors.throttled():
            for runner in runners:
                runner.dropped += 1
        else:
            for runner in runners:
                runner.samples.append(taken[id(runner)])
        if sensors.power_capped is not None and sensors.power_capped():
            for runner in runners:
                runner.power_capped += 1
        count = len(runners[0].samples)
        out_of_time = time.perf_counter() > deadline and (count >= settings.samples or number >= 4 * settings.samples)
        patient = time.perf_counter() - began >= min(settings.least_seconds, settings.seconds)
        if (count >= next_look and patient) or out_of_time:
            looks += 1
            next_look = math.ceil(max(next_look, count) * 1.6)
            if out_of_time or _is_enough(runners, settings, looks):
                return looks


def in_turn(runners: Sequence[_T], number: int) -> list[_T]:
    """The order of one round. What runs before a target matters (caches, clocks): each must come after each as often.

    Two take turns at being first. More are shuffled, always in the same way: there and back again would put the first
    and the last after themselves, and has shown them 3 % faster than their like."""
    if len(runners) <= 2:
        return list(runners) if number % 2 == 0 else list(reversed(runners))
    return random.Random(number).sample(runners, len(runners))


def _is_enough(runners: list[_Runner], settings: Settings, looks: int) -> bool:
    if len(runners) > 1:
        return all(one.verdict != "undecided" for one in _verdicts(runners, settings, looks))
    values = [sample.main_ms for sample in runners[0].samples]
    independent = effective_count(values)
    half = t_quantile(0.975, max(1.0, independent - 1)) * sample_std(values) / math.sqrt(independent)
    return half <= settings.precision * sum(values) / len(values)


def _verdicts(runners: list[_Runner], settings: Settings, looks: int) -> tuple[Verdict, ...]:
    first, *others = runners
    verdicts = []
    for other in others:
        pairs = zip(first.samples, other.samples, strict=True)
        ratios = [math.log(b.main_ms / a.main_ms) for a, b in pairs]
        verdicts.append(
            judge(first.target.name, other.target.name, ratios, margin=settings.margin, looks=max(1, looks))
        )
    return tuple(verdicts)


def _result(
    runner: _Runner,
    device: Device,
    sensors: Sensors,
    settings: Settings,
    timer: Timer,
    before: Counters,
    after: Counters,
) -> TargetResult:
    target = runner.target
    if not runner.samples:
        raise UsageError(
            f"{target.name}: all {runner.dropped} samples were taken while the device throttled: cool it down"
        )
    values = [sample.main_ms for sample in runner.samples]
    time_summary = summarise(values)
    seconds = time_summary.mean_ms / 1e3
    notes = input_notes(target)
    if not runner.settled:
        notes.append("times had not settled when warm-up ended")
    if runner.power_capped:
        notes.append(f"the power limit held the clock down in {runner.power_capped} rounds")
    host = summarise([sample.host_ms for sample in runner.samples])
    if device.is_gpu and runner.calls_per_sample == 1 and host.median_ms > 1.5 * percentile(sorted(values), 50):
        notes.append("the host takes much longer than the device: launch-bound from outside the measured events")
    return TargetResult(
        name=target.name,
        device=device.kind,
        device_name=device.name,
        time=time_summary,
        host=host,
        first_call_ms=runner.first_call_ms,
        compile_ms=runner.compile_ms,
        warmup_calls=runner.warmup_calls,
        warmup_settled=runner.settled,
        calls_per_sample=runner.calls_per_sample,
        input_copies=len(runner.calls),
        cold_cache=settings.cold_cache,
        dropped_throttled=runner.dropped,
        samples_per_second=target.samples / seconds if target.samples else None,
        tokens_per_second=target.tokens / seconds if target.tokens else None,
        peak_memory_bytes=_peak_memory(runner, device),
        joules_per_call=_energy(runner, sensors, timer, settings),
        causes=likely_causes(before, after, values, noisy=time_summary.is_noisy),
        notes=tuple(notes),
        samples_ms=tuple(round(value, 6) for value in values),
    )


def _peak_memory(runner: _Runner, device: Device) -> int | None:
    if not device.is_gpu:
        return None
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    runner.next_call()()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated())


def _energy(runner: _Runner, sensors: Sensors, timer: Timer, settings: Settings) -> float | None:
    """Calls in a row for half a second: the counter moves only every some milliseconds."""
    if sensors.joules is None or settings.energy_seconds <= 0:
        return None
    count = 0
    first, started = sensors.joules(), time.perf_counter()
    while time.perf_counter() - started < settings.energy_seconds:
        for _ in range(runner.calls_per_sample):
            runner.next_call()()
            count += 1
        timer.wait()
    used = sensors.joules() - first
    return used / count if used > 0 else None
