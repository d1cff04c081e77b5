"""Where the time between the first and the last GPU activity went.

The identity compute + exposed communication + exposed copies + idle = total holds for every device: communication
counts only where nothing computes, copies only where nothing computes or communicates, idle is what is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True)
class Timeline:
    """Milliseconds of one device. Copies here are the copy engines' (and AMD's copy kernels), not cast kernels."""

    device: int
    total_ms: float
    compute_ms: float
    exposed_communication_ms: float
    exposed_copy_ms: float
    idle_ms: float
    communication_ms: float
    copy_ms: float
    busy_ms: float
    start_us: float
    end_us: float

    @property
    def identity_gap_ms(self) -> float:
        """Zero but for rounding: the parts make up the total."""
        parts = self.compute_ms + self.exposed_communication_ms + self.exposed_copy_ms + self.idle_ms
        return self.total_ms - parts


def timeline(
    device: int, compute: Iterable[Interval], communication: Iterable[Interval], copies: Iterable[Interval]
) -> Timeline:
    """The timeline of one device from its intervals in microseconds, each kind by start."""
    computing, communicating, copying = merged(compute), merged(communication), merged(copies)
    everything = [*computing, *communicating, *copying]
    if not everything:
        raise ValueError(f"device {device} has no activity")
    begin = min(start for start, _ in everything)
    end = max(stop for _, stop in everything)
    exposed_communication = _length(communicating) - _overlap(communicating, computing)
    busy_without_copies = merged(sorted([*computing, *communicating]))
    exposed_copies = _length(copying) - _overlap(copying, busy_without_copies)
    busy = _length(computing) + exposed_communication + exposed_copies
    return Timeline(
        device=device,
        total_ms=(end - begin) / 1e3,
        compute_ms=_length(computing) / 1e3,
        exposed_communication_ms=exposed_communication / 1e3,
        exposed_copy_ms=exposed_copies / 1e3,
        idle_ms=(end - begin - busy) / 1e3,
        communication_ms=_length(communicating) / 1e3,
        copy_ms=_length(copying) / 1e3,
        busy_ms=busy / 1e3,
        start_us=begin,
        end_us=end,
    )


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The union of intervals that come by start; none of the result touch. Those of no length do not count."""
    result: list[Interval] = []
    for start, stop in intervals:
        if stop <= start:
            continue
        if result and start <= result[-1][1]:
            if stop > result[-1][1]:
                result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return result


def _length(intervals: list[Interval]) -> float:
    return sum(stop - start for start, stop in intervals)


def _overlap(one: list[Interval], other: list[Interval]) -> float:
    total, at = 0.0, 0
    for start, stop in one:
        while at < len(other) and other[at][1] <= start:
            at += 1
        look = at
        while look < len(other) and other[look][0] < stop:
            total += min(stop, other[look][1]) - max(start, other[look][0])
            look += 1
    return total
