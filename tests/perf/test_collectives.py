"""Collectives: what went over the links, and what was waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.trace.chrome import read_chrome_trace
from kernel_pytorch.perf.trace.recording import Recording

MB = 1 << 20


def rank(
    builder: Callable[..., Any], name: str, starts: list[float], *, ranks: str = "[0, 1, 2, 3, 4, 5, 6, 7]"
) -> Recording:
    """An all-reduce of 64 MB by eight; all ranks are done 600 us after the last one came."""
    made = builder()
    for number, start in enumerate(starts):
        at = 10_000.0 * number
        made.span(
            "cpu_op", "record_param_comms", at, 20,
            **{"External id": 50 + number, "Collective name": "allreduce", "dtype": "BFloat16", "Group size": 8,
               "In msg nelems": 32 * MB, "Out msg nelems": 32 * MB, "Process Group Ranks": ranks,
               "Input Dims": [[[32 * MB]]], "Input type": ["TensorList"]},
        )  # fmt: skip
        made.kernel("ncclDevKernel_Generic", at + start, 2600 - start, launched=at + 2)
    return read_chrome_trace(made.write(f"{name}.json"))


def test_a_long_call_is_waiting_beyond_what_such_a_size_takes(builder: Callable[..., Any]) -> None:
    profile = analyse(rank(builder, "early", [100.0, 100.0]))
    row = profile.collectives[0]
    assert (row.name, row.members, row.calls) == ("all-reduce", 8, 2)
    assert row.sent_bytes == pytest.approx(2 * 7 / 8 * 64 * MB)
    assert row.least_us == 2500 and row.bus_gbs == pytest.approx(row.sent_bytes / 2500 / 1e3)
    assert row.expected_us is not None and row.low_us is not None and row.low_us < row.expected_us < 1000
    assert row.waiting_ms == pytest.approx(2 * (2500 - row.expected_us) / 1e3)
    assert row.basis is not None and "MI300X" in row.basis
    assert {"late ranks", "exposed communication"} <= {one.title for one in profile.advice}


def test_with_other_ranks_the_last_to_come_shows_the_transfer(builder: Callable[..., Any]) -> None:
    early, late = rank(builder, "early", [100.0, 100.0]), rank(builder, "late", [2000.0, 2100.0])
    row = analyse(early, ranks=[late]).collectives[0]
    assert row.ranks == 2 and row.skew_us == pytest.approx(1950)
    assert row.waiting_ms == pytest.approx((2500 - 600 + 2500 - 500) / 1e3)


def test_a_group_over_two_machines_has_no_expected_time(builder: Callable[..., Any]) -> None:
    profile = analyse(rank(builder, "far", [100.0], ranks="[0, 1, 2, 3, 8, 9, 10, 11]"))
    assert profile.collectives == ()
    titles = {one.title for one in profile.advice}
    assert "exposed communication" in titles and "late ranks" not in titles
