"""What runs beside the main stream's work: making it shorter makes nothing shorter."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_pytorch.perf.classify.attribution import Attribution
from kernel_pytorch.perf.trace.recording import Activities


def behind_the_main_stream(
    activities: Activities, attribution: Attribution, streams: Sequence[Sequence[int]]
) -> set[int]:
    """Activities of other streams that run for at least half of their time while the main stream computes.

    The main stream of a device is the one that computes most. `streams` are the activities of each by start.
    """
    work = [[i for i in stream if attribution.name(i) != "communication"] for stream in streams]
    by_device: dict[int, list[list[int]]] = {}
    for stream in filter(None, work):
        by_device.setdefault(activities.device[stream[0]], []).append(stream)
    hidden: set[int] = set()
    for group in by_device.values():
        main = max(group, key=lambda stream: _busy(activities, stream))
        for stream in group:
            if stream is not main:
                hidden |= _covered(activities, stream, main)
    return hidden


def _busy(activities: Activities, stream: Sequence[int]) -> float:
    return sum(activities.end[i] - activities.start[i] for i in stream)


def _covered(activities: Activities, stream: Sequence[int], main: Sequence[int]) -> set[int]:
    start, end = activities.start, activities.end
    found, first = set(), 0
    for i in stream:
        while first < len(main) and end[main[first]] <= start[i]:
            first += 1
        together, at = 0.0, first
        while at < len(main) and start[main[at]] < end[i]:
            together += min(end[i], end[main[at]]) - max(start[i], start[main[at]])
            at += 1
        if together > 0 and together >= (end[i] - start[i]) / 2:
            found.add(i)
    return found
