"""What nvcc makes of both sides of a change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.verify.isolation.trees import FolderTree
from kernel_pytorch.verify.nvcc import changed_units, compare_with_nvcc

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the PATH")

KERNEL = """\
#include "scale.cuh"
namespace {
__global__ void inner(float* x) { *x = scale(*x); }
}
__global__ void outer(float* x) { x[threadIdx.x] = scale(x[threadIdx.x]); }
void launch(float* x) { inner<<<1, 1>>>(x); }
"""
HEADER = "#pragma once\n__device__ inline float scale(float v) { return v * 2.0f; }\n"
GATED = "#ifdef USE_ROCM\n#include <hip/hip_runtime.h>\n#endif\n"


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cu").write_text(KERNEL)
        (tmp_path / name / "scale.cuh").write_text(HEADER)
        (tmp_path / name / "alone.cu").write_text("__global__ void alone() {}\n")
    return tmp_path / "old", tmp_path / "new"


def compared(old: Path, new: Path) -> dict[str, CheckResult]:
    return {check.check: check for check in compare_with_nvcc(FolderTree(old), FolderTree(new))}


def test_without_nvcc_it_is_not_run(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = sides
    (new / "k.cu").write_text(GATED + KERNEL)
    monkeypatch.setattr("kernel_pytorch.verify.nvcc.shutil.which", lambda name: None)
    assert main(["verify", str(new), "--isolation", "--old", str(old), "--nvcc", "--json"]) == 0
    said = capsys.readouterr()
    (check,) = json.loads(said.out)["nvcc"]
    assert check["status"] == "not_run"
    assert "nvcc: not run: there is no nvcc on the PATH" in said.err
    assert "nvcc: 1 not run" in said.err


def test_which_files_are_compared(sides: tuple[Path, Path]) -> None:
    old, new = FolderTree(sides[0]), FolderTree(sides[1])
    assert changed_units(old, new) == []
    assert [check.status for check in compare_with_nvcc(old, new, nvcc="nvcc")] == [Status.NOT_RUN]
    (sides[1] / "scale.cuh").write_text(GATED + HEADER)
    assert changed_units(old, new) == ["k.cu"]
    (sides[1] / "alone.cu").write_text(GATED)
    (sides[1] / "fresh.cu").write_text("")
    assert changed_units(old, new) == ["alone.cu", "k.cu"]


@needs_nvcc
def test_a_gate_changes_nothing(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    old, new = sides
    (new / "k.cu").write_text(GATED + KERNEL)
    assert {name: check.status for name, check in compared(old, new).items()} == {
        "nvcc -E k.cu": Status.PASS,
        "nvcc -ptx k.cu": Status.PASS,
    }
    assert main(["verify", str(new), "--isolation", "--old", str(old), "--nvcc", "-v"]) == 0
    said = capsys.readouterr().err
    assert "nvcc -ptx k.cu: pass: the PTX is the same" in said
    assert "nvcc: 2 pass" in said


@needs_nvcc
def test_white_space_is_no_change_outside_strings(sides: tuple[Path, Path]) -> None:
    old, new = sides
    text = '__global__ void f(float* x) {{ *x = sizeof("a{0}b");{1}*x = 2; }}\n'
    (old / "k.cu").write_text(text.format(" ", " "))
    (new / "k.cu").write_text(text.format(" ", "\n   "))
    assert {check.status for check in compared(old, new).values()} == {Status.PASS}
    (new / "k.cu").write_text(text.format("  ", " "))
    assert compared(old, new)["nvcc -E k.cu"].status is Status.FAIL


@needs_nvcc
def test_a_changed_header_is_seen_in_the_file_that_includes_it(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = sides
    (new / "scale.cuh").write_text(HEADER.replace("2.0f", "3.0f"))
    checks = compared(old, new)
    assert {check.status for check in checks.values()} == {Status.FAIL}
    assert "differs: `2.0f ; }` became `3.0f ; }`" in checks["nvcc -E k.cu"].detail
    assert main(["verify", str(new), "--isolation", "--old", str(old), "--nvcc"]) == 1


@needs_nvcc
@pytest.mark.parametrize(("test", "name"), [("#ifdef", "device"), ("#ifndef", "host")])
def test_both_passes_are_compared(sides: tuple[Path, Path], test: str, name: str) -> None:
    old, new = sides
    for root, value in ((old, 1), (new, 2)):
        text = f"__global__ void f(float* x) {{\n{test} __CUDA_ARCH__\n  x[0] = {value}.0f;\n#endif\n}}\n"
        (root / "k.cu").write_text(text)
    checks = compared(old, new)
    assert checks["nvcc -E k.cu"].status is Status.FAIL
    assert f"of the {name} pass differs" in checks["nvcc -E k.cu"].detail
    assert checks["nvcc -ptx k.cu"].status is (Status.FAIL if name == "device" else Status.PASS)


@needs_nvcc
def test_line_numbers_of_asserts_are_told_apart(sides: tuple[Path, Path]) -> None:
    old, new = sides
    text = "#include <cassert>\n__global__ void f(float* x) { assert(x); *x = 1; }\n"
    (old / "k.cu").write_text(text)
    (new / "k.cu").write_text(GATED + text)
    checks = compared(old, new)
    assert checks["nvcc -E k.cu"].status is Status.PASS
    assert checks["nvcc -ptx k.cu"].status is Status.WARN


@needs_nvcc
def test_what_nvcc_does_not_take(sides: tuple[Path, Path]) -> None:
    old, new = sides
    (new / "k.cu").write_text("#include <absent_header.h>\n" + KERNEL)
    broken = compared(old, new)
    assert {check.status for check in broken.values()} == {Status.FAIL}
    assert "absent_header.h" in broken["nvcc -E k.cu"].detail
    (old / "k.cu").write_text("#include <absent_header.h>\n// old\n" + KERNEL)
    assert {check.status for check in compared(old, new).values()} == {Status.NOT_RUN}


def test_flags_need_nvcc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path), "--isolation", "--nvcc-flags=-O3"]) == 2
    assert "--nvcc-flags only makes sense with --nvcc" in capsys.readouterr().err
