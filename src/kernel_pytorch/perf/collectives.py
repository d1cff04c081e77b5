"""Collectives: what they moved, how fast, and how much of their time was waiting for the other ranks.

One recording knows one rank. Its kernel runs from when this rank came until all are done, so a long one mostly means
that another rank was late. With the recordings of other ranks the n-th call of a collective is the same call
everywhere: the rank that came last waited least, and its time is the transfer's.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.expected.expected import expected_time
from kernel_pytorch.perf.profile import CollectiveTime, Peaks
from kernel_pytorch.perf.roofline.collectives import OPERATOR
from kernel_pytorch.perf.roofline.forms import Collective
from kernel_pytorch.perf.roofline.work import Work, work_of
from kernel_pytorch.perf.trace.linking import Links, link
from kernel_pytorch.perf.trace.recording import NONE, Recording

Calls = dict[Collective, list[tuple[float, float]]]


def collective_table(
    recording: Recording, links: Links, peaks: Peaks | None, others: Sequence[Recording] = ()
) -> tuple[CollectiveTime, ...]:
    """One row for each collective, group and size, longest first. `others` are recordings of the other ranks."""
    mine = _calls(recording, links)
    theirs = [_calls(one, link(one)) for one in others]
    rows = [_row(form, calls, [one.get(form, []) for one in theirs], peaks) for form, calls in mine.items()]
    return tuple(sorted(rows, key=lambda one: -one.total_ms))


def _calls(recording: Recording, links: Links) -> Calls:
    """Start and end of every collective, by what it has to do."""
    known: dict[int, Work | None] = {}
    found: dict[tuple[int, int], tuple[float, float]] = {}
    activities, operators = recording.activities, recording.operators
    for i in range(len(activities)):
        operator = links.operator[i]
        if operator == NONE or recording.signatures[operators.label[operator]].name != OPERATOR:
            continue
        key = (operators.label[operator], operator)
        start, end = found.get(key, (activities.start[i], activities.end[i]))
        found[key] = (min(start, activities.start[i]), max(end, activities.end[i]))
    calls: Calls = defaultdict(list)
    for (label, _), times in sorted(found.items(), key=lambda item: item[1]):
        if label not in known:
            known[label] = work_of(recording.signatures[label])
        work = known[label]
        if work is not None and isinstance(work.form, Collective):
            calls[work.form].append(times)
    return calls


def _row(
    form: Collective, calls: list[tuple[float, float]], others: list[list[tuple[float, float]]], peaks: Peaks | None
) -> CollectiveTime:
    lengths = [end - start for start, end in calls]
    gpu = gpu_by_alias(peaks.alias) if peaks and peaks.alias else None
    expected = expected_time(gpu, Work(0, 0, "fp32", form=form)) if gpu else None
    together = [one for one in others if len(one) == len(calls)]
    waiting, skew = None, None
    if together:
        shortest = [min(length, *(one[i][1] - one[i][0] for one in together)) for i, length in enumerate(lengths)]
        waiting = sum(lengths) - sum(shortest)
        begins = [[start, *(one[i][0] for one in together)] for i, (start, _) in enumerate(calls)]
        skew = statistics.median(max(one) - min(one) for one in begins)
    elif expected is not None:
        waiting = sum(max(0.0, length - expected.us) for length in lengths)
    return CollectiveTime(
        name=form.what,
        members=form.members,
        sent_bytes=form.sent,
        calls=len(calls),
        total_ms=sum(lengths) / 1e3,
        least_us=min(lengths),
        median_us=statistics.median(lengths),
        bus_gbs=form.sent / min(lengths) / 1e3 if min(lengths) else 0.0,
        expected_us=expected.us if expected else None,
        low_us=expected.low_us if expected else None,
        high_us=expected.high_us if expected else None,
        basis=expected.basis if expected else None,
        waiting_ms=waiting / 1e3 if waiting is not None else None,
        skew_us=skew,
        ranks=1 + len(together),
    )
