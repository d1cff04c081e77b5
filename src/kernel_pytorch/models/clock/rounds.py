"""Samples of several calls, taken in turns: the one measurement that `kpt bench` and both optimisers use.

Order: first call (compilation), warm-up until times settle, then rounds. In a round every contender gets one sample;
the order changes (`in_turn`), so that nobody always comes after the same. Rounds go on until the verdicts stand or the
noise allows no more, or time is up.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from kernel_pytorch.core.entry_point import blaming
from kernel_pytorch.models.clock.device import Sample, Timer
from kernel_pytorch.models.clock.sensors import Sensors
from kernel_pytorch.models.clock.statistics import effective_count, sample_std, t_quantile
from kernel_pytorch.models.clock.verdict import MARGIN, TimeVerdict, judge

MIN_WARMUP = 3
MIN_SAMPLES = 10

_T = TypeVar("_T")


@dataclass(frozen=True)
class Sampling:
    """How samples are taken. `samples` are at least taken; `seconds` bound the rounds of all contenders together."""

    warmup: int = MIN_WARMUP
    samples: int = MIN_SAMPLES
    seconds: float = 10.0
    warmup_seconds: float = 5.0
    # A GPU at rest takes a while to reach its clock: neither warm-up nor sampling is over before this.
    least_warmup_seconds: float = 0.3
    least_seconds: float = 0.5
    margin: float = MARGIN
    cold_cache: bool = False
    # A single contender is known well enough when its mean is known this well.
    precision: float = 0.01
    least_sample_ms: float = 1.0
    energy_seconds: float = 0.5


@dataclass
class Contender:
    """Something to time, and its samples. It may be a call in this process or in another one."""

    name: str
    sample: Callable[[int], Sample]
    """The time of one call, averaged over so many in a row."""
    call: Callable[[], object] = lambda: None
    """One call that is not timed, for what else is to be known about it (memory, energy)."""
    first: Callable[[], object] | None = None
    """The first call of all, which may compile."""
    copies: int = 1
    first_call_ms: float = 0.0
    compile_ms: float = 0.0
    warmup_calls: int = 0
    settled: bool = False
    calls_per_sample: int = 1
    dropped: int = 0
    power_capped: int = 0
    samples: list[Sample] = field(default_factory=list)

    @property
    def times_ms(self) -> list[float]:
        return [sample.main_ms for sample in self.samples]


def local_contender(
    name: str, calls: Sequence[Callable[[], object]], timer: Timer, ready: Callable[[], object] = lambda: None
) -> Contender:
    """A call of this process, with copies of its inputs in turn. `ready` switches to what is measured, not timed."""
    turn = count(1)

    def call() -> object:
        return calls[next(turn) % len(calls)]()

    def made_ready(run: Callable[[], object]) -> object:
        ready()
        return run()

    def sample(times: int) -> Sample:
        ready()
        return timer.sample(call, times)

    def first() -> None:
        with blaming(name):
            made_ready(calls[0])
            timer.wait()

    return Contender(name, sample, lambda: made_ready(call), first, len(calls))


def warm_up(contenders: Sequence[Contender], sampling: Sampling) -> None:
    """First calls, then each until its times settle."""
    for one in contenders:
        _first_call(one)
    for one in contenders:
        _settle(one, sampling)


def verdicts(contenders: Sequence[Contender], sampling: Sampling, looks: int) -> tuple[TimeVerdict, ...]:
    """Every other contender against the first."""
    first, *others = contenders
    found = []
    for other in others:
        ratios = [math.log(b / a) for a, b in zip(first.times_ms, other.times_ms, strict=True)]
        found.append(judge(first.name, other.name, ratios, margin=sampling.margin, looks=max(1, looks)))
    return tuple(found)


def in_turn(contenders: Sequence[_T], number: int) -> list[_T]:
    """The order of one round. What runs before one matters (caches, clocks): each must come after each as often.

    Two take turns at being first. More are shuffled, always in the same way: there and back again would put the first
    and the last after themselves, and has shown them 3 % faster than their like."""
    if len(contenders) <= 2:
        return list(contenders) if number % 2 == 0 else list(reversed(contenders))
    return random.Random(number).sample(contenders, len(contenders))


def _first_call(one: Contender) -> None:
    if one.first is None:
        return
    compiled = _compile_seconds()
    started = time.perf_counter()
    one.first()
    one.first_call_ms = (time.perf_counter() - started) * 1e3
    one.compile_ms = (_compile_seconds() - compiled) * 1e3


def _compile_seconds() -> float:
    """What torch.compile has spent so far by its own account; 0 where it was never used."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    metrics = getattr(dynamo, "compilation_time_metrics", {})
    return float(sum(metrics.get("_compile.compile_inner", []) or metrics.get("entire_frame_compile", [])))


def _settle(one: Contender, sampling: Sampling) -> None:
    """At least `warmup` calls, then until two windows of five agree within 2 %."""
    times: list[float] = []
    began = time.perf_counter()
    deadline = began + sampling.warmup_seconds
    while True:
        times.append(one.sample(1).main_ms)
        if len(times) >= max(sampling.warmup, 10) and time.perf_counter() - began >= sampling.least_warmup_seconds:
            last, before = sorted(times[-5:])[2], sorted(times[-10:-5])[2]
            if abs(last - before) <= 0.02 * before:
                one.settled = True
                break
        if time.perf_counter() > deadline and len(times) >= sampling.warmup:
            break
    one.warmup_calls = len(times) + 1
    typical = sorted(times[-5:])[len(times[-5:]) // 2]
    # With a flush before every sample one call is all there is; otherwise short calls are measured in bunches.
    if not sampling.cold_cache:
        one.calls_per_sample = max(1, min(1000, math.ceil(sampling.least_sample_ms / max(typical, 1e-4))))
    one.sample(one.calls_per_sample)


def take_rounds(contenders: Sequence[Contender], sensors: Sensors, sampling: Sampling) -> int:
    """Fill the contenders' samples. Returns how many times the growing data were looked at."""
    began = time.perf_counter()
    deadline = began + sampling.seconds
    looks = 0
    next_look = sampling.samples
    number = 0
    while True:
        order = in_turn(contenders, number)
        taken = {id(one): one.sample(one.calls_per_sample) for one in order}
        number += 1
        throttled = sensors.throttled is not None and sensors.throttled()
        capped = sensors.power_capped is not None and sensors.power_capped()
        for one in contenders:
            one.power_capped += capped
            one.dropped += throttled
            if not throttled:
                one.samples.append(taken[id(one)])
        have = len(contenders[0].samples)
        out_of_time = time.perf_counter() > deadline and (have >= sampling.samples or number >= 4 * sampling.samples)
        patient = time.perf_counter() - began >= min(sampling.least_seconds, sampling.seconds)
        if (have >= next_look and patient) or out_of_time:
            looks += 1
            next_look = math.ceil(max(next_look, have) * 1.6)
            if out_of_time or _is_enough(contenders, sampling, looks):
                return looks


def _is_enough(contenders: Sequence[Contender], sampling: Sampling, looks: int) -> bool:
    if len(contenders) > 1:
        return all(one.verdict != "undecided" for one in verdicts(contenders, sampling, looks))
    values = contenders[0].times_ms
    independent = effective_count(values)
    half = t_quantile(0.975, max(1.0, independent - 1)) * sample_std(values) / math.sqrt(independent)
    return half <= sampling.precision * sum(values) / len(values)
