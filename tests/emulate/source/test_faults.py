"""Planted faults: each is caught, with its kind and its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.source.build import SourceProgram
from kernel_pytorch.emulate.source.run import run_source

SOURCE = Path(__file__).with_name("programs") / "faults.cu"
PLAIN = RunSettings(timeout_s=60)
MEMORY = RunSettings(checked=True, timeout_s=60)
RACES = RunSettings(checked=True, races=True, timeout_s=60)
Built = Callable[[str], SourceProgram]


def marked(name: str, mark: str = "HERE") -> int:
    """The line that carries the mark."""
    lines = SOURCE.read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if f"{mark} {name} " in f"{line.split('//')[-1]} "]
    assert len(found) == 1, name
    return found[0]


@pytest.mark.parametrize(
    ("name", "kind", "settings", "error"),
    [
        ("race_global", "race", RACES, "cudaSuccess"),
        ("race_bytes", "race", RACES, "cudaSuccess"),
        ("read_bounds", "bounds", PLAIN, "cudaErrorIllegalAddress"),
        ("write_bounds", "bounds", PLAIN, "cudaErrorIllegalAddress"),
        ("shared_bounds", "shared-bounds", PLAIN, "cudaErrorIllegalAddress"),
        ("dynamic_bounds", "shared-bounds", PLAIN, "cudaErrorIllegalAddress"),
        ("unwritten", "unwritten", MEMORY, "cudaSuccess"),
        ("unwritten_shared", "unwritten", MEMORY, "cudaSuccess"),
        ("freed", "freed", PLAIN, "cudaErrorIllegalAddress"),
        ("host_pointer", "bounds", PLAIN, "cudaErrorIllegalAddress"),
        ("divergent_barrier", "barrier", PLAIN, "cudaSuccess"),
        ("barrier_and_shuffle", "barrier", PLAIN, "cudaErrorLaunchTimeout"),
        ("lane_not_in_mask", "inactive-lane", PLAIN, "cudaSuccess"),
        ("caller_not_in_mask", "inactive-lane", PLAIN, "cudaSuccess"),
        ("lanes_that_never_come", "collective", PLAIN, "cudaErrorLaunchTimeout"),
        ("failed_assert", "trap", PLAIN, "cudaErrorLaunchFailure"),
        ("too_many_threads", "resources", PLAIN, "cudaSuccess"),
    ],
)
def test_a_fault_is_caught_at_its_line(name: str, kind: str, settings: RunSettings, error: str, built: Built) -> None:
    run = run_source(built("faults.cu"), [name], settings)
    assert {fault.kind for fault in run.events.faults} == {kind}
    lines = {marked(name), marked(name, "OTHER")} if kind == "barrier" and error == "cudaSuccess" else {marked(name)}
    assert {(Path(fault.file), fault.line) for fault in run.events.faults} <= {(SOURCE, line) for line in lines}
    assert run.stdout.strip() == error and run.exit_code == 0
    assert not run.ok


@pytest.mark.parametrize("name", ["race_shared", "race_global", "race_plain_and_atomic"])
def test_a_race_names_both_places(name: str, built: Built) -> None:
    run = run_source(built("faults.cu"), [name], RACES)
    races = [fault for fault in run.events.faults if fault.kind == "race"]
    pair = {marked(name), marked(name, "OTHER")}
    assert races
    for race in races:
        other = next(line for line in pair if f"{SOURCE.name}:{line}," in race.detail)
        assert {race.line, other} == pair
    memory = "shared" if name == "race_shared" else "global"
    assert all(f"of {memory} memory" in race.detail for race in races)


def test_races_are_looked_for_only_where_asked(built: Built) -> None:
    assert run_source(built("faults.cu"), ["race_shared"], PLAIN).ok


def test_a_missing_syncwarp_shows_as_a_wrong_sum_and_as_a_race(built: Built) -> None:
    run = run_source(built("faults.cu"), ["missing_syncwarp"], RACES)
    assert marked("missing_syncwarp") in {fault.line for fault in run.events.faults if fault.kind == "race"}
    assert any("lockstep" in fault.hardware for fault in run.events.faults)


def test_a_fault_names_block_warp_lane_and_thread(built: Built) -> None:
    (fault,) = run_source(built("faults.cu"), ["read_bounds"], PLAIN).events.faults
    assert (fault.block, fault.wave, fault.lane) == ((0, 0, 0), 1, 31)
    assert fault.kernel == "read_bounds"
    assert fault.instruction == SOURCE.read_text().splitlines()[fault.line - 1].strip()
    assert fault.detail.startswith("thread (63,0,0): read of 4 bytes")
    assert "0 bytes behind allocation 1 (256 bytes)" in fault.detail


def test_the_host_may_not_touch_device_memory(built: Built) -> None:
    run = run_source(built("faults.cu"), ["host_access"], PLAIN)
    (fault,) = run.events.faults
    assert (fault.kind, fault.line) == ("host-access", marked("host_access"))
    assert run.exit_code == 139 and run.stdout == ""


def test_a_kernel_that_never_ends_is_stopped(built: Built) -> None:
    run = run_source(built("faults.cu"), ["endless"], RunSettings(watchdog_s=0.5, timeout_s=60))
    assert [fault.kind for fault in run.events.faults] == ["watchdog"]
    assert run.stdout.strip() == "cudaErrorLaunchTimeout"


def test_a_stack_that_runs_over_is_a_fault_and_not_a_crash(built: Built) -> None:
    run = run_source(built("faults.cu"), ["deep_stack"], PLAIN)
    assert [fault.kind for fault in run.events.faults] == ["stack"]
    assert run.exit_code == 139


def test_the_same_seed_on_one_thread_gives_the_same_report(built: Built) -> None:
    alone = RunSettings(checked=True, races=True, threads=1, timeout_s=60)
    first, again = (run_source(built("faults.cu"), ["missing_syncwarp"], alone, seed=5).events.faults for _ in range(2))
    assert first == again
