"""Triton kernels, C++ extensions and Inductor's kernels run as the emulated GPU's machine code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

HERE = Path(__file__).parent
PLANTED = HERE / "planted"


def emulated(tests: Path, gpu: str, *options: str, **more: str) -> dict[str, Any]:
    """pytest on a file, under `kpt emulate --json`: how that ended."""
    words = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tests.parent), str(tests)]
    command = [sys.executable, "-m", "kernel_pytorch", "emulate", "--gpu", gpu, "--json", *options, "--"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRITON_DEFAULT_FP_FUSION": "1", **more}
    done = subprocess.run(
        [*command, sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    return found


def planted(folder: Path, gpu: str) -> dict[str, Any]:
    """The tests of a copy of that project: torch's hipify writes beside the sources."""
    copy = shutil.copytree(PLANTED, folder / "planted")
    return emulated(copy / "test_sums.py", gpu, "--check", "memory", TORCH_EXTENSIONS_DIR=str(folder / "builds"))


def kernels(run: dict[str, Any]) -> set[str]:
    return {launch["kernel"] for launch in run["events"]["launches"]}


def test_triton() -> None:
    run = emulated(HERE / "cases/triton_kernels.py", "mi300x")
    assert run["exit_code"] == 0, run["stdout"] + run["stderr"]
    assert kernels(run) == {"twice", "thrice"}
    assert run["events"]["operators"]


@pytest.mark.slow
def test_a_planted_wave_64_fault_of_an_extension_is_found_with_its_line(tmp_path: Path) -> None:
    run = planted(tmp_path, "mi300x")
    assert run["exit_code"] == 1, run["stdout"] + run["stderr"]
    faults = run["events"]["faults"]
    assert {fault["kind"] for fault in faults} == {"unwritten"}
    (place,) = {(fault["file"], fault["line"]) for fault in faults}
    assert "// the fault" in Path(place[0]).read_text().splitlines()[place[1] - 1]


@pytest.mark.slow
def test_reads_of_memory_that_neither_an_operator_nor_a_kernel_wrote_are_reported() -> None:
    run = emulated(HERE / "cases/unwritten.py", "mi300x", "--check", "memory")
    assert run["exit_code"] == 0, run["stdout"] + run["stderr"]
    assert kernels(run) == {"copy", "copy_of_nothing"}
    assert {(fault["kind"], fault["kernel"]) for fault in run["events"]["faults"]} == {("unwritten", "copy_of_nothing")}


@pytest.mark.slow
def test_the_planted_fault_is_none_on_a_gpu_of_32_lanes(tmp_path: Path) -> None:
    run = planted(tmp_path, "rx7900xtx")
    assert run["ok"], run["stdout"] + run["stderr"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "gpu"), [("compiled", "mi300x"), ("compiled", "rx7900xtx"), ("extension", "mi300x")])
def test_long_cases(name: str, gpu: str, tmp_path: Path) -> None:
    run = emulated(HERE / f"cases/{name}.py", gpu, TORCH_EXTENSIONS_DIR=str(tmp_path / "builds"))
    assert run["exit_code"] == 0, run["stdout"] + run["stderr"]
    assert kernels(run)
