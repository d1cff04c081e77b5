"""Why the GPU waited: every gap is laid at the door of what happened on the host during it.

- The next kernel was launched before the gap began: the GPU had work and took its time (queue, dependency).
- It was launched during the gap: up to the launch the GPU waited for the host; from there on for the launch itself.
  If the host had just come back from a call that waits for the GPU, that call drained the queue and is the cause; if it
  sat in a data loader, that is; otherwise it is Python and the framework, one launch at a time.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kernel_pytorch.perf.classify.seen import IdleCause
from kernel_pytorch.perf.trace.linking import Links
from kernel_pytorch.perf.trace.recording import NONE, Activities, Recording

HOST = "host-bound"
SYNC = "after a synchronisation"
LOADER = "data loading"
LATENCY = "launch latency"
QUEUE = "between queued kernels"
UNKNOWN = "cause not recorded"
UNRECORDED = "launched, not started"
COMPILE = "compiling"
LAUNCHING = "inside the launch call"

DETAILS = {
    HOST: "Python and the framework had not launched the next kernel yet",
    SYNC: "a call that waits for the GPU (item, cpu, synchronize) let the queue run dry",
    LOADER: "the host was fetching data",
    LATENCY: "from the launch call to the start of the kernel",
    QUEUE: "the next kernel was queued already: dependencies and the hardware's own gap",
    UNKNOWN: "the trace has no launch calls for these kernels",
    UNRECORDED: "over a millisecond from the launch to the start: the GPU did something that is not recorded",
    COMPILE: "torch.compile was compiling",
    LAUNCHING: "the call took over a millisecond: a kernel's first run loads its code; warm up before you record",
}

_WAITS = ("synchronize", "Synchronize", "MemcpyWithStream", "hipMemcpy", "cudaMemcpy", "EventQuery_wait")
_DOES_NOT_WAIT = ("Async", "Peer")
_LOADER_MARKS = ("enumerate(DataLoader)", "DataLoader", "dataloader")
_COMPILE_MARKS = ("_compile.compile_inner", "entire_frame_compile", "compile_fx", "TorchDynamo Cache Miss", "Inductor")


# A launch takes tens of microseconds; the work of a step that began before the recording takes longer.
LONGEST_LATENCY_US = 1000.0


class Gap(NamedTuple):
    """The GPU stood still from `start` to `end` (microseconds) and then ran `activity`."""

    start: float
    end: float
    activity: int


def gaps(order: Sequence[int], activities: Activities) -> Iterator[Gap]:
    """The gaps of every device; `order` are the activities by device and start."""
    start, end = activities.start, activities.end
    device, reached = None, 0.0
    for index in order:
        if activities.device[index] != device:
            device, reached = activities.device[index], start[index]
        if start[index] > reached:
            yield Gap(reached, start[index], index)
        reached = max(reached, end[index])


def waits_for_gpu(call: str) -> bool:
    """A runtime call during which the host waits for the GPU."""
    return any(word in call for word in _WAITS) and not any(word in call for word in _DOES_NOT_WAIT)


def idle_causes(recording: Recording, links: Links, found: Iterable[Gap]) -> tuple[IdleCause, ...]:
    """Idle time by cause, longest first. The causes add up to the idle time."""
    totals: dict[str, list[float]] = {}

    def add(cause: str, length: float) -> None:
        if length > 0:
            entry = totals.setdefault(cause, [0.0, 0])
            entry[0] += length
            entry[1] += 1

    calls = recording.calls
    waiting = _ends(recording, [i for i in range(len(calls)) if waits_for_gpu(recording.strings[calls.label[i]])])
    loading = _spans(recording, _LOADER_MARKS)
    compiling = _spans(recording, _COMPILE_MARKS)
    for gap in found:
        call = links.call[gap.activity]
        if call == NONE:
            if recording.on_cpu:
                add(HOST, gap.end - gap.start)
            else:
                add(UNKNOWN, gap.end - gap.start)
            continue
        launched = calls.start[call]
        if launched <= gap.start:
            # The call that replays a graph hands over its kernels one by one, and may still be at it.
            add(LATENCY if calls.end[call] >= gap.end else QUEUE, gap.end - gap.start)
            continue
        launched = min(launched, gap.end)
        before = launched - gap.start
        if _overlap(compiling, gap.start, launched) > before / 2:
            cause = COMPILE
        elif _overlap(loading, gap.start, launched) > before / 2:
            cause = LOADER
        elif _any_in(waiting, gap.start, launched):
            cause = SYNC
        else:
            cause = HOST
        add(cause, before)
        late = gap.end - launched
        still_launching = gap.end - calls.end[call] < LONGEST_LATENCY_US
        add(LATENCY if late < LONGEST_LATENCY_US else LAUNCHING if still_launching else UNRECORDED, late)
    return tuple(
        IdleCause(cause, length / 1e3, int(count), DETAILS[cause])
        for cause, (length, count) in sorted(totals.items(), key=lambda item: -item[1][0])
    )


def _ends(recording: Recording, indices: list[int]) -> list[float]:
    return sorted(recording.calls.end[i] for i in indices)


def _any_in(times: list[float], begin: float, end: float) -> bool:
    at = bisect.bisect_left(times, begin)
    return at < len(times) and times[at] <= end


def _spans(recording: Recording, marks: tuple[str, ...]) -> list[tuple[float, float]]:
    notes = recording.annotations
    wanted = {i for i, text in enumerate(recording.strings) if any(mark in text for mark in marks)}
    return sorted((notes.start[i], notes.end[i]) for i in range(len(notes)) if notes.label[i] in wanted)


def _overlap(spans: list[tuple[float, float]], begin: float, end: float) -> float:
    return sum(max(0.0, min(end, stop) - max(begin, start)) for start, stop in spans)
