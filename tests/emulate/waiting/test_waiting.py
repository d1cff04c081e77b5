"""Kernels that wait for the host, another stream or another GPU; and those that wait for nothing that can come."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import Outcome, RunSettings, run_program
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import find_toolchain

SOURCE = Path(__file__).with_name("waits.hip")
GPUS = ("mi300x", "rx7900xtx")  # wave 64 and wave 32
MODES = ("mapped", "managed", "streams", "behind", "counted", "mailbox", "devices", "multi_device", "graph", "value",
         "thread")  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The program for each GPU."""
    folder = tmp_path_factory.mktemp("waiting")
    toolchain = find_toolchain(prefer="zig", headers="triton")
    built = {}
    for alias in GPUS:
        target = gpu_by_alias(alias).target.name
        options = CompileOptions("-O1", extra=("-gline-tables-only",))
        built[alias] = build_emulated([SOURCE], target, toolchain, folder / alias, options).executable
    return built


def outcome_of(programs: Mapping[str, Path], gpu: str, *modes: str, **settings: bool | float) -> Outcome:
    chosen = RunSettings(devices=2, timeout_s=300, **settings)  # type: ignore[arg-type]
    return run_program(programs[gpu], list(modes), gpu_by_alias(gpu), chosen)


@pytest.mark.parametrize("gpu", GPUS)
def test_what_a_kernel_waits_for_is_given_after_its_launch(programs: Mapping[str, Path], gpu: str) -> None:
    outcome = outcome_of(programs, gpu, *MODES)
    assert outcome.stdout.splitlines() == [f"{mode} right" for mode in MODES], outcome.stderr
    assert outcome.exit_code == 0 and not outcome.events.faults


@pytest.mark.parametrize("check", ["checked", "races", "waits"])
def test_no_check_finds_a_fault_in_them(programs: Mapping[str, Path], check: str) -> None:
    modes = [mode for mode in MODES if mode != "counted"]
    outcome = outcome_of(programs, "mi300x", *modes, "told", **{check: True})
    assert outcome.stdout.splitlines() == [f"{mode} right" for mode in (*modes, "told")], outcome.stderr
    assert not outcome.events.faults


def test_values_of_a_kernel_that_tells_nobody_are_a_race_between_streams(programs: Mapping[str, Path]) -> None:
    (fault,) = outcome_of(programs, "rx7900xtx", "untold", races=True).events.faults
    assert fault.kind == "stream-race" and "wait_then_add" in fault.kernel
    assert "fill_then_store" in fault.detail


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(
    ("mode", "prints", "says"),
    [
        ("deadlock", "deadlock hipErrorLaunchFailure", "the program waits for it in hipDeviceSynchronize"),
        ("left", "left right", "the program has ended"),
    ],
)
def test_a_kernel_that_waits_for_nothing_is_a_deadlock_with_its_line(
    programs: Mapping[str, Path], gpu: str, mode: str, prints: str, says: str
) -> None:
    outcome = outcome_of(programs, gpu, mode, watchdog_s=1.0)
    assert outcome.stdout.strip() == prints
    (fault,) = outcome.events.faults
    line = next(n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if "while (*flag == 0)" in text)
    assert (fault.kind, fault.line) == ("watchdog", line)
    assert "deadlock" in fault.detail and says in fault.detail
