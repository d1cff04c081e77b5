"""Which operator launched which GPU activity.

The runtime call that launched an activity carries the same correlation number; the operator is the innermost one that
was running on that call's thread at that moment. The profiler's own "External id" says the same where it is written;
nesting is asked first because older AMD traces leave it out.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from kernel_pytorch.perf.trace.recording import NONE, HostSpans, Recording


@dataclass(frozen=True)
class Links:
    """Per activity: the launching call and the operator. Per operator: its parent. NONE where there is none.

    `left_over[i]` is true for work that was launched before the recording began.
    """

    call: array[int]
    operator: array[int]
    parent: array[int]
    module: array[int]
    left_over: bytearray


def link(recording: Recording) -> Links:
    """The links of a recording."""
    activities, operators = recording.activities, recording.operators
    count = len(activities)
    parent = enclosing(operators, operators)
    call_of = Lookup(recording.calls.key)
    call = array("i", (call_of(activities.correlation[i]) for i in range(count)))
    operator_of_call = enclosing(recording.calls, operators)
    if recording.on_cpu:
        operator = array("i", activities.external)
    else:
        operator_of_external = Lookup(operators.key)
        operator = array("i", bytes(4 * count))
        for i in range(count):
            found = recording.captured.get(i, NONE)
            if found == NONE and call[i] != NONE:
                found = operator_of_call[call[i]]
            operator[i] = found if found != NONE else operator_of_external(activities.external[i])
    module = _modules(recording, call, operator)
    return Links(call, operator, parent, module, _left_over(recording, call, operator))


def enclosing(inner: HostSpans, outer: HostSpans) -> array[int]:
    """For each inner span the innermost outer span around its beginning, on the same thread; NONE without one.

    A span does not enclose itself: `enclosing(operators, operators)` gives parents.
    """
    same = inner is outer
    result = array("i", [NONE]) * len(inner)
    outer_order = _order(outer)
    inner_order = outer_order if same else _order(inner)
    stack: list[int] = []
    at = 0
    thread = NONE
    for index in inner_order:
        if inner.thread[index] != thread:
            thread = inner.thread[index]
            stack.clear()
        begin = inner.start[index]
        while at < len(outer_order) and _before(outer, outer_order[at], thread, begin):
            candidate = outer_order[at]
            at += 1
            if outer.thread[candidate] == thread and not (same and candidate == index):
                while stack and outer.end[stack[-1]] <= outer.start[candidate]:
                    stack.pop()
                stack.append(candidate)
            elif same and candidate == index:
                break
        while stack and outer.end[stack[-1]] <= begin:
            stack.pop()
        result[index] = stack[-1] if stack else NONE
        if same:
            stack.append(index)
    return result


def _before(outer: HostSpans, index: int, thread: int, begin: float) -> bool:
    return outer.thread[index] < thread or (outer.thread[index] == thread and outer.start[index] <= begin)


def _order(spans: HostSpans) -> array[int]:
    """By thread, then start, then longest first."""
    return in_order(spans.thread, spans.start, spans.end)


def in_order(group: array[int], start: array[float], end: array[float]) -> array[int]:
    """Indices by group, start, and longest first. Traces mostly are in order: then no list of them all is made."""
    groups: dict[int, array[int]] = {}
    for index, number in enumerate(group):
        members = groups.get(number)
        if members is None:
            members = groups[number] = array("i")
        members.append(index)
    result = array("i")
    for number in sorted(groups):
        members = groups.pop(number)
        if not all(start[a] < start[b] or (start[a] == start[b] and end[a] >= end[b]) for a, b in pairwise(members)):
            members = array("i", sorted(members, key=lambda i: (start[i], -end[i])))
        result.extend(members)
    return result


class Lookup:
    """Position by key. Profilers number upwards: then the column itself is searched, and costs no memory."""

    def __init__(self, keys: array[int]) -> None:
        self._keys = keys
        self._ascending = all(a < b for a, b in pairwise(keys))
        self._table = {} if self._ascending else {key: position for position, key in enumerate(keys) if key >= 0}

    def __call__(self, key: int) -> int:
        if key < 0:
            return NONE
        if not self._ascending:
            return self._table.get(key, NONE)
        at = bisect_left(self._keys, key)
        return at if at < len(self._keys) and self._keys[at] == key else NONE


def _modules(recording: Recording, call: array[int], operator: array[int]) -> array[int]:
    """The innermost nn.Module whose forward was running when the activity was launched."""
    count = len(recording.activities)
    result = array("i", [NONE]) * count
    if len(recording.modules) == 0:
        return result
    of_call = enclosing(recording.calls, recording.modules)
    of_operator = enclosing(recording.operators, recording.modules)
    for i in range(count):
        if call[i] != NONE and of_call[call[i]] != NONE:
            result[i] = of_call[call[i]]
        elif operator[i] != NONE:
            result[i] = of_operator[operator[i]]
    return result


def _left_over(recording: Recording, call: array[int], operator: array[int]) -> bytearray:
    """Work of the steps before: neither call nor operator is recorded, and it ended before anything that has one began.

    Without this a trace begins with somebody else's kernels, and total and idle time are wrong.
    """
    activities = recording.activities
    flags = bytearray(len(activities))
    linked = (activities.start[i] for i in range(len(activities)) if call[i] != NONE or operator[i] != NONE)
    first = min(linked, default=float("-inf"))
    for i in range(len(activities)):
        if call[i] == NONE and operator[i] == NONE and activities.end[i] <= first:
            flags[i] = 1
    return flags
