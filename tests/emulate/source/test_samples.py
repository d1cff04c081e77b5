"""Right programs: they pass their own checks and nothing is reported, whatever the order of threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.source.build import SourceProgram, build_source
from kernel_pytorch.emulate.source.run import run_source

PROGRAMS = Path(__file__).with_name("programs")
Built = Callable[[str], SourceProgram]


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("threads", [1, 4])
def test_no_false_alarm(seed: int, threads: int, built: Built) -> None:
    settings = RunSettings(checked=True, races=True, threads=threads, shuffle_blocks=False, timeout_s=60)
    run = run_source(built("samples.cu"), [], settings, seed)
    assert run.events.faults == ()
    assert run.exit_code == 0, run.stdout
    assert len(run.events.launches) == 19 and run.events.complete


def test_blocks_in_another_order(built: Built) -> None:
    for name in ("reduction", "atomics", "fences", "groups"):
        run = run_source(built("samples.cu"), [name], RunSettings(shuffle_blocks=True, timeout_s=60))
        assert run.ok, run.stdout


def test_printf_of_a_kernel_is_the_program_s_output(built: Built) -> None:
    run = run_source(built("samples.cu"), ["printing"], RunSettings(timeout_s=60))
    assert sorted(run.stdout.splitlines()) == [f"thread {t} of block {b}" for t in (0, 1) for b in (0, 1)]


def test_threads_run_in_an_order_of_the_seed_s(built: Built) -> None:
    alone = RunSettings(threads=1, timeout_s=60)
    orders = {run_source(built("samples.cu"), ["printing"], alone, seed).stdout for seed in range(1, 9)}
    assert len(orders) > 1


def test_hip_names_mean_the_same(built: Built) -> None:
    run = run_source(built("hip_names.hip"), [], RunSettings(checked=True, races=True, timeout_s=60))
    assert run.ok, (run.stdout, run.events.faults)


def test_buffers_and_launches_are_reported(built: Built) -> None:
    run = run_source(built("samples.cu"), ["reduction"], RunSettings(timeout_s=60))
    (launch,) = run.events.launches
    assert (launch.kernel, launch.grid, launch.block) == ("reduce<128>", (8, 1, 1), (128, 1, 1))
    assert [(buffer.id, buffer.bytes) for buffer in run.events.buffers] == [(2, 4), (1, 4000)]


@pytest.mark.slow
def test_ziglang_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.setenv("KPT_HOST_CXX", f"{sys.executable} -m ziglang c++")
    monkeypatch.setenv("PATH", os.defpath)
    program = build_source([PROGRAMS / "samples.cu"], tmp_path / "samples")
    assert run_source(program, [], RunSettings(checked=True, races=True, timeout_s=60)).ok
    faulty = build_source([PROGRAMS / "faults.cu"], tmp_path / "faults")
    (fault,) = run_source(faulty, ["read_bounds"], RunSettings(timeout_s=60)).events.faults
    assert "HERE read_bounds" in (PROGRAMS / "faults.cu").read_text().splitlines()[fault.line - 1]
