"""Golden records and their checks as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.counted import counted
from kernel_pytorch.verify.golden.archive import GoldenRecord
from kernel_pytorch.verify.golden.check import GoldenCheck
from kernel_pytorch.verify.kernels.names import kernel_name
from kernel_pytorch.verify.kernels.record import KernelRecord

_SHOWN = 5


def model_recorded_lines(made: GoldenRecord, max_mb: float) -> Iterator[str]:
    """What a new record of a model holds, and what did not fit."""
    noise = max((n for events in made.events.values() for e in events for n in e.noise), default=0.0)
    counts = ", ".join(f"{counted(len(events), 'event')} {mode}" for mode, events in made.events.items())
    where = made.machine["device_name"] or made.machine["device"]
    yield f"recorded on {where}: {counts}; noise over {made.repeats} identical runs: {noise:.2g}"
    if made.backward:
        counts = ", ".join(f"{counted(len(events), 'gradient')} {mode}" for mode, events in made.backward.items())
        yield f"backward pass: {counts}"
    elif made.backward_note:
        yield f"no backward pass is recorded: {made.backward_note}"
    if made.dropped:
        events = counted(len(made.dropped), "event")
        yield f"{events} did not fit in {max_mb:g} MB (first: {made.dropped[0]}): raise --max-mb"


def program_recorded_lines(made: KernelRecord, max_mb: float) -> Iterator[str]:
    """What a new record of a program holds, and what did not fit."""
    noise = max((state.noise for one in made.launches for state in one.buffers), default=0.0)
    kernels = len({one.symbol for one in made.launches})
    counted = f"{len(made.launches)} of {made.launches_in_all} launches of {kernels} kernels"
    where = made.machine["device_name"]
    yield f"recorded on {where}: {counted}; noise over {made.repeats} identical runs: {noise:.2g}"
    missing = sum(not state.has_after for one in made.launches for state in one.buffers)
    if missing:
        yield f"{missing} contents did not fit in {max_mb:g} MB: raise --max-mb; their hashes are there"


def check_lines(result: GoldenCheck) -> Iterator[str]:
    """A replay of a model: the verdict, then the first modules that differ."""
    output = result.output
    ends = f"output error {output.error:.3g} of {output.limit:.3g} allowed" if output is not None else "no output"
    there, here = result.recorded_on, result.checked_on
    yield f"{result.mode}: {'same' if result.ok else 'DIFFERS'}: {ends}"
    yield f"  recorded on {there.get('device_name')} (torch {there.get('torch')}), checked on {here.get('device_name')}"
    yield from _backward_lines(result)
    first = [culprit for culprit in result.culprits if not culprit.follows]
    for culprit in first[:_SHOWN]:
        yield f"  {culprit.module}: {culprit.kind}: {culprit.text}"
        yield f"    in {culprit.where}; {culprit.side}"
    if len(first) > _SHOWN:
        yield f"  ... and {len(first) - _SHOWN} more places"
    if len(first) < len(result.culprits):
        yield f"  {len(result.culprits) - len(first)} places differ that went on with a wrong output of these"
    for key in result.missing[:_SHOWN]:
        yield f"  {key}: was not called here"
    if result.referee_note:
        yield f"  {result.referee_note}"


def _backward_lines(result: GoldenCheck) -> Iterator[str]:
    backward = result.backward
    if backward.loss is not None:
        worst = max(backward.ends, key=lambda one: one.error / one.limit if one.limit else one.error)
        ends = f"loss error {backward.loss.error:.3g} of {backward.loss.limit:.3g} allowed"
        verdict = "agrees" if backward.ok else "DIFFERS"
        yield f"  backward: {verdict}: {ends}; worst: {worst.event.module}, {worst.event.phase}"
    elif backward.note:
        yield f"  backward: not compared: {backward.note}"


def model_record_lines(record: GoldenRecord) -> Iterator[str]:
    """What a record of a model holds."""
    yield f"{record.target}, {counted(len(record.weights), 'weight')}, {counted(len(record.inputs), 'input')}"
    for key, value in record.machine.items():
        yield f"  {key}: {value}"
    for mode, events in record.events.items():
        modules = {event.module for event in events}
        gradients = f", {len(record.backward[mode])} gradients" if mode in record.backward else ""
        yield f"  {mode}: {counted(len(events), 'event')} of {counted(len(modules), 'module')}{gradients}"


def program_record_lines(record: KernelRecord) -> Iterator[str]:
    """What a record of a program holds, launch by launch."""
    words = " ".join((record.program, *record.arguments))
    yield f"{words}: {len(record.launches)} of {record.launches_in_all} launches"
    for key, value in record.machine.items():
        yield f"  {key}: {value}"
    for launch in record.launches:
        sizes = f"grid {'x'.join(map(str, launch.grid))}, block {'x'.join(map(str, launch.block))}"
        changed = ", ".join(f"{one.buffer} ({one.bytes} bytes)" for one in launch.buffers if one.changed)
        yield f"  {launch.number} {kernel_name(launch.symbol)}: {sizes}: changed {changed or 'nothing'}"
