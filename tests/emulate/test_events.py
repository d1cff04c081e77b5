"""Reports of the runtime: reading them, comparing two of them, telling a person about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.emulate.events import Buffer, Events, Fault, HotLine, Launch, read_events
from kernel_pytorch.emulate.run import Outcome
from kernel_pytorch.emulate.run_differences import differences
from kernel_pytorch.emulate.summary import fault_lines, profile_lines

FAULT = {
    "event": "fault", "kind": "bounds", "kernel": "_Z1kPi", "grid_block": [3, 0, 0], "wave": 1, "lane": 9,
    "instruction": "global_store_dword v0, v1, s[0:1]", "file": "k.hip", "line": 12, "address": "0x10", "bytes": 4,
    "detail": "4 bytes past allocation 1", "hardware": "memory fault",
}  # fmt: skip
LAUNCH = {"event": "launch", "kernel": "_Z1kPi", "grid": [2, 1, 1], "block": [64, 1, 1], "lds": 256, "seconds": 0.5}


def _written(path: Path, *events: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def _fault(kind: str = "bounds", line: int = 12, file: str = "k.hip", lane: int | None = 9) -> Fault:
    return Fault(kind, "_Z1kPi", (3, 0, 0), 1, lane, "global_store_dword v0", file, line, "past the end", "a fault")


def _outcome(text: str = "", code: int | None = 0, buffers: tuple[Buffer, ...] = (), *faults: Fault) -> Outcome:
    return Outcome("MI300X", code, text, "", 0.1, Events(faults=faults, buffers=buffers, complete=True))


def test_every_kind_of_event_is_read(tmp_path: Path) -> None:
    path = _written(
        tmp_path / "report",
        LAUNCH,
        {**LAUNCH, "counters": {"vector_alu": 7}},
        FAULT,
        {"event": "buffer", "id": 4, "bytes": 64, "digest": "ab", "when": "exit"},
        {"event": "places", "kernel": "_Z1kPi", "places": [["v_add_u32 v0, v0, v1", "k.hip", 3, 11]]},
        {"event": "unsupported", "function": "hipGraphDebugDotPrint"},
        {"event": "something new"},
        {"event": "end", "launches": 2},
    )
    events = read_events(path)
    assert events.launches[0] == Launch("_Z1kPi", (2, 1, 1), (64, 1, 1), 256, 0.5)
    assert events.launches[1].counters == {"vector_alu": 7}
    (fault,) = events.faults
    assert (fault.place, fault.thread) == ("k.hip:12", "block (3, 0, 0), wave 1, lane 9")
    assert events.buffers == (Buffer(4, 64, "ab"),)
    assert events.hot_lines == (HotLine("_Z1kPi", "v_add_u32 v0, v0, v1", "k.hip", 3, 11),)
    assert events.unsupported == ("hipGraphDebugDotPrint",) and events.complete


def test_a_fault_of_a_whole_launch_names_no_lane(tmp_path: Path) -> None:
    whole = {name: value for name, value in FAULT.items() if name not in ("lane", "file", "instruction")}
    (fault,) = read_events(_written(tmp_path / "report", whole)).faults
    assert fault.lane is None and fault.place == "" and "lane" not in fault.thread


@pytest.mark.parametrize("left", ['{"event":"launch","ker', "\x00\x01\n", "[1, 2]\n", "\n"])
def test_what_a_killed_program_left_half_written_is_no_event(tmp_path: Path, left: str) -> None:
    path = _written(tmp_path / "report", LAUNCH)
    path.write_text(path.read_text() + left)
    events = read_events(path)
    assert len(events.launches) == 1 and not events.complete


def test_no_report_is_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "none") == Events()


def test_the_same_runs_do_not_differ() -> None:
    once = _outcome("sum 3\n", 0, (Buffer(1, 8, "aa"),), _fault())
    assert differences(once, once) == ()


def test_exit_codes_output_buffers_and_new_faults_differ() -> None:
    first = _outcome("sum 3\nok\n", 0, (Buffer(1, 8, "aa"), Buffer(2, 8, "cc")), _fault(line=5))
    second = _outcome("sum 4\nok\nmore\n", 1, (Buffer(1, 8, "bb"), Buffer(2, 8, "cc")), _fault(line=5), _fault(line=6))
    found = differences(first, second)
    assert [(one.what, one.where) for one in found] == [
        ("exit", "code"), ("output", "line 1"), ("output", "line 3"), ("buffer", "allocation 1 (8 bytes)"),
        ("fault", "k.hip:6"),
    ]  # fmt: skip
    assert str(found[1]) == "output line 1: 'sum 3' and 'sum 4'"


def test_what_varies_between_runs_of_one_gpu_is_noise_as_long_as_the_words_stay() -> None:
    first = _outcome("took 1.5 ms\n", 0, (Buffer(1, 8, "aa"), Buffer(2, 8, "ee")))
    again = _outcome("took 1.7 ms\n", 0, (Buffer(1, 8, "ab"), Buffer(2, 8, "ee")))
    other = _outcome("took 9.5 ms\n", 0, (Buffer(1, 8, "ff"), Buffer(2, 8, "ff")))
    assert [one.what for one in differences(first, other)] == ["output", "buffer", "buffer"]
    assert [one.where for one in differences(first, other, again)] == ["allocation 2 (8 bytes)"]
    assert [one.what for one in differences(first, _outcome("FAIL 9 ms\n"), again)] == ["output"]


def test_buffers_whose_size_follows_the_width_are_not_compared() -> None:
    assert not differences(_outcome(buffers=(Buffer(1, 8, "aa"),)), _outcome(buffers=(Buffer(1, 4, "bb"),)))


def test_at_most_ten_lines_and_buffers_are_listed() -> None:
    first = _outcome("a\n" * 50, 0, tuple(Buffer(n, 8, "aa") for n in range(50)))
    second = _outcome("b\n" * 50, 0, tuple(Buffer(n, 8, "bb") for n in range(50)))
    assert len(differences(first, second)) == 20


def test_a_place_is_told_once_with_how_often() -> None:
    lines = list(fault_lines(Events(faults=(_fault(), _fault(), _fault("race", 13)))))
    assert lines[0] == "bounds (2 times) in k(int*) at k.hip:12: block (3, 0, 0), wave 1, lane 9"
    assert lines[1:4] == ["    global_store_dword v0", "    past the end", "    a fault"]
    assert lines[4].startswith("race in k(int*) at k.hip:13")


def test_without_source_lines_the_instruction_is_the_place() -> None:
    first, second, *_ = fault_lines(Events(faults=(_fault(file=""),)))
    assert "at global_store_dword v0:" in first and "source lines" in second


def test_a_refused_launch_has_no_place() -> None:
    refused = Fault("resources", "_Z1kPi", (0, 0, 0), 0, None, "", "", 0, "too much LDS", "the launch fails")
    assert list(fault_lines(Events(faults=(refused,)))) == [
        "resources in k(int*)", "    too much LDS", "    the launch fails"
    ]  # fmt: skip


def test_more_places_than_fit_are_counted() -> None:
    lines = list(fault_lines(Events(faults=tuple(_fault(line=n) for n in range(25)))))
    assert lines[-1] == "... and 5 more places"


def test_counts_are_added_by_kernel_and_lines_sorted_by_heat() -> None:
    counters = {
        "vector_alu": 10, "lds": 4, "active_lanes": 32, "possible_lanes": 64, "lines_touched": 8, "lines_ideal": 2,
        "global_bytes_read": 100, "global_bytes_written": 50, "lds_accesses": 4, "lds_conflict_cycles": 3,
    }  # fmt: skip
    launch = Launch("_Z1kPi", (1, 1, 1), (64, 1, 1), 0, 0.1, counters)
    hot = (HotLine("_Z1kPi", "a", "k.hip", 3, 10), HotLine("_Z1kPi", "b", "k.hip", 4, 60),
           HotLine("_Z1kPi", "c", "k.hip", 4, 30), HotLine("_Z1kPi", "d", "", 0, 900))  # fmt: skip
    assert list(profile_lines(Events(launches=(launch, launch), hot_lines=hot))) == [
        "k(int*): 2 launches",
        "  instructions: vector alu 20, lds 8",
        "  lanes active in vector instructions: 50.0%",
        "  global memory: 200 bytes read, 100 written; coalescing 25.0% of ideal",
        "  LDS: 8 accesses, 6 extra cycles by bank conflicts",
        "hot lines (wave instructions executed):",
        "   90.0%  k.hip:4",
        "   10.0%  k.hip:3",
    ]
