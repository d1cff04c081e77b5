"""The timeline's identity, against a count microsecond by microsecond."""

from __future__ import annotations

import random

import pytest

from kernel_pytorch.perf.classify.timeline import merged, timeline


def covered(intervals: list[tuple[int, int]]) -> set[int]:
    return {tick for start, end in intervals for tick in range(start, end)}


@pytest.mark.parametrize("seed", range(20))
def test_the_identity_holds_and_agrees_with_a_count(seed: int) -> None:
    chance = random.Random(seed)
    groups = []
    for count in (20, 6, 6):
        starts = [chance.randrange(300) for _ in range(count)]
        groups.append([(start, start + chance.randrange(0, 25)) for start in starts])
    row = timeline(0, *map(sorted, groups))
    compute, communication, copies = map(covered, groups)
    every = [edge for group in groups for interval in group if interval[0] < interval[1] for edge in interval]
    total = max(every) - min(every)
    assert row.total_ms * 1e3 == pytest.approx(total)
    assert row.compute_ms * 1e3 == pytest.approx(len(compute))
    assert row.exposed_communication_ms * 1e3 == pytest.approx(len(communication - compute))
    assert row.exposed_copy_ms * 1e3 == pytest.approx(len(copies - compute - communication))
    assert row.idle_ms * 1e3 == pytest.approx(total - len(compute | communication | copies))
    assert row.communication_ms * 1e3 == pytest.approx(len(communication))
    assert row.identity_gap_ms == pytest.approx(0.0, abs=1e-12)


def test_touching_and_nested_intervals_merge() -> None:
    assert merged(sorted([(5, 7), (0, 2), (2, 3), (1, 2), (6, 6), (10, 10)])) == [(0, 3), (5, 7)]


def test_nothing_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="no activity"):
        timeline(3, [], [], [])
