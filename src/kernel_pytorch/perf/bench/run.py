"""Measures one or more targets in turns and judges them: what `kpt bench` prints."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kernel_pytorch.models.clock.device import Device, Timer
from kernel_pytorch.models.clock.in_turns import peak_memory, summary_of
from kernel_pytorch.models.clock.rotated import rotated_calls
from kernel_pytorch.models.clock.rounds import Contender, Sampling, local_contender, take_rounds, verdicts, warm_up
from kernel_pytorch.models.clock.sensors import Sensors
from kernel_pytorch.models.clock.statistics import percentile, summarise
from kernel_pytorch.models.clock.verdict import TimeVerdict
from kernel_pytorch.perf.bench.causes import Counters, likely_causes, read_counters
from kernel_pytorch.perf.bench.result import TargetResult
from kernel_pytorch.perf.bench.target import Target


@dataclass(frozen=True)
class _Surroundings:
    """What a result is reported with beside its samples."""

    device: Device
    sensors: Sensors
    sampling: Sampling
    timer: Timer
    before: Counters
    after: Counters


def measure(
    targets: list[Target], device: Device, sensors: Sensors, sampling: Sampling
) -> tuple[tuple[TargetResult, ...], tuple[TimeVerdict, ...]]:
    """Results of every target, and verdicts of every other target against the first."""
    timer = Timer(device, sampling.cold_cache)
    contenders = [contender_of(target, device, timer) for target in targets]
    warm_up(contenders, sampling)
    before = read_counters(device.is_gpu)
    looks = take_rounds(contenders, sensors, sampling)
    surroundings = _Surroundings(device, sensors, sampling, timer, before, read_counters(device.is_gpu))
    results = tuple(_result(one, target, surroundings) for one, target in zip(contenders, targets, strict=True))
    return results, verdicts(contenders, sampling, looks)


def contender_of(target: Target, device: Device, timer: Timer) -> Contender:
    """The target with copies of its inputs."""
    return local_contender(target.name, rotated_calls(target.call, target.inputs, device.flush_bytes // 2), timer)


def _result(one: Contender, target: Target, around: _Surroundings) -> TargetResult:
    time_summary = summary_of(one)
    values = one.times_ms
    seconds = time_summary.mean_ms / 1e3
    notes = input_notes(target)
    if not one.settled:
        notes.append("times had not settled when warm-up ended")
    if one.power_capped:
        notes.append(f"the power limit held the clock down in {one.power_capped} rounds")
    host = summarise([sample.host_ms for sample in one.samples])
    slow_host = host.median_ms > 1.5 * percentile(sorted(values), 50)
    if around.device.is_gpu and one.calls_per_sample == 1 and slow_host:
        notes.append("the host takes much longer than the device: launch-bound from outside the measured events")
    return TargetResult(
        name=target.name,
        device=around.device.kind,
        device_name=around.device.name,
        time=time_summary,
        host=host,
        first_call_ms=one.first_call_ms,
        compile_ms=one.compile_ms,
        warmup_calls=one.warmup_calls,
        warmup_settled=one.settled,
        calls_per_sample=one.calls_per_sample,
        input_copies=one.copies,
        cold_cache=around.sampling.cold_cache,
        dropped_throttled=one.dropped,
        samples_per_second=target.samples / seconds if target.samples else None,
        tokens_per_second=target.tokens / seconds if target.tokens else None,
        peak_memory_bytes=peak_memory(one, around.device),
        joules_per_call=_energy(one, around),
        causes=likely_causes(around.before, around.after, values, noisy=time_summary.is_noisy),
        notes=tuple(notes),
        samples_ms=tuple(round(value, 6) for value in values),
    )


def input_notes(target: Target) -> list[str]:
    """Inputs that make a timing meaningless."""
    notes = []
    for name, value in [*enumerate(target.arguments), *target.keywords.items()]:
        is_float = hasattr(value, "is_floating_point") and value.is_floating_point()
        if is_float and value.numel() > 1 and not bool(value.any()):
            notes.append(f"input {name} is all zeros: GPUs clock higher on zeros, and some kernels skip them")
    return notes


def _energy(one: Contender, around: _Surroundings) -> float | None:
    """Calls in a row for half a second: the counter moves only every some milliseconds."""
    sensors = around.sensors
    if sensors.joules is None or around.sampling.energy_seconds <= 0:
        return None
    count = 0
    first, started = sensors.joules(), time.perf_counter()
    # A round is run even where the time is over before the first call: a busy machine may hold us up right here.
    while count == 0 or time.perf_counter() - started < around.sampling.energy_seconds:
        for _ in range(one.calls_per_sample):
            one.call()
            count += 1
        around.timer.wait()
    used = sensors.joules() - first
    return used / count if used > 0 else None
