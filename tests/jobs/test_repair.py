"""The loop: it ends, keeps only what is proven, and says what is left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.findings import CheckResult, Patch, Status
from kernel_pytorch.jobs import repair
from kernel_pytorch.jobs.last_builds import REPAIRED_SINCE, LastBuilds
from kernel_pytorch.port.builds.ported_project import OUT_OF_TIME, TriedUnit
from kernel_pytorch.port.discover import Project, discover
from kernel_pytorch.port.repairs.complaint import Complaint, Spot
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.verify.isolation import compare_file

SOURCE = "int version() {\n    return CUDART_VERSION;\n}\nint odd() { return nothing_known; }\n"


def compiler(project: Project, patches: Sequence[Patch], *_: Any, **__: Any) -> tuple[TriedUnit, ...]:
    """Objects to two words, on every line that ROCm compiles."""
    text = next((patch.after.decode() for patch in patches), (project.root / "a.cu").read_text())
    complaints = []
    is_nvidia = False
    for number, line in enumerate(text.splitlines(), 1):
        is_nvidia = line.startswith("#else") or (is_nvidia and not line.startswith("#endif"))
        for found in re.finditer("CUDART_VERSION|nothing_known", "" if is_nvidia else line):
            spot = Spot("a.cu", number, found.start() + 1)
            complaints.append(Complaint(f"use of undeclared identifier '{found[0]}'", (spot,)))
    check = CheckResult("build a.cu", Status.FAIL if complaints else Status.PASS, "")
    return (TriedUnit("a.cu", check, tuple(complaints)),)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "a.cu").write_text(SOURCE)
    monkeypatch.setattr(repair, "try_ported", compiler)
    return discover(tmp_path)


def test_what_can_be_repaired_is_and_the_rest_is_a_finding(project: Project) -> None:
    done = repair.build_and_repair(repair.RepairRequest(project, "torch-extension", ("gfx942",)), (), None)  # type: ignore[arg-type]
    (patch,) = done.patches
    assert patch.codes == ("KP288",)
    assert b"HIP_VERSION_MAJOR" in patch.after
    assert compare_file("a.cu", SOURCE.encode(), patch.after).is_proven
    (left,) = done.findings
    assert (left.code, left.path, left.line) == ("KP820", "a.cu", 4)  # the user's line, not the gated file's
    assert "nothing_known" in left.message
    assert done.rounds == 1
    assert [check.status for check in done.checks] == [Status.FAIL]


def test_it_ends_where_a_repair_does_not_help(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Complaint("use of undeclared identifier 'CUDART_VERSION'", (Spot("a.cu", 2, 12),))
    unit = TriedUnit("a.cu", CheckResult("build a.cu", Status.FAIL, ""), (said,))
    calls = []

    def stubborn(*_: Any, **__: Any) -> tuple[TriedUnit, ...]:
        calls.append(1)
        return (unit,)

    monkeypatch.setattr(repair, "try_ported", stubborn)
    done = repair.build_and_repair(repair.RepairRequest(project, "torch-extension", ("gfx942",)), (), None)  # type: ignore[arg-type]
    assert len(calls) <= repair.MAX_ROUNDS + 2
    assert done.findings


def test_a_round_without_time_keeps_what_the_last_one_showed(tmp_path: Path) -> None:
    """Unless a repair has changed the source, or a header that it reaches, since."""
    (tmp_path / "a.cu").write_text('#include "a.h"\n')
    (tmp_path / "a.h").write_text("int a;\n")
    (tmp_path / "b.cu").write_text("int b;\n")
    last = LastBuilds(discover(tmp_path))
    built = {name: TriedUnit(name, CheckResult(f"build {name}", Status.PASS, "")) for name in ("a.cu", "b.cu")}
    late = {name: TriedUnit(name, CheckResult(f"build {name}", Status.NOT_RUN, OUT_OF_TIME)) for name in built}
    assert last.noted("gfx942", late["a.cu"]) == late["a.cu"]  # never built
    for unit in built.values():
        last.noted("gfx942", unit)
    last.repaired((), (Patch("a.h", b"int a;\n", b"int a2;\n"),))
    assert last.noted("gfx942", late["b.cu"]) == built["b.cu"]
    stale = last.noted("gfx942", late["a.cu"]).check
    assert (stale.status, stale.detail) == (Status.NOT_RUN, REPAIRED_SINCE)
    assert last.noted("gfx1100", late["b.cu"]) == late["b.cu"]
    assert last.noted("gfx942", built["a.cu"]) == last.noted("gfx942", late["a.cu"]) == built["a.cu"]


def test_a_compiler_is_stopped_when_the_time_for_builds_is_over(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.cu").write_text("__global__ void k() {}\n")
    patch = Patch("a.cu", b"__global__ void k() {}\n", b"__global__ void k() { }\n", ())
    request = repair.RepairRequest(discover(tmp_path / "p"), "single-source", ("gfx942",), limit_s=0.2)
    toolchain = Toolchain("clang", (str(slow),), None, "slow", "", (), (), None, (), None, None, (), "")
    (check,) = repair.build_and_repair(request, (patch,), toolchain).checks
    assert (check.status, check.detail) == (Status.NOT_RUN, OUT_OF_TIME)


def test_what_a_macro_puts_together_is_told_at_a_line_of_the_project(tmp_path: Path) -> None:
    failed = CheckResult("build k.cu for gfx942", Status.FAIL, "no matching function")
    nowhere, there = Spot("<scratch space>", 152, 1), Spot("k.cu", 5, 2)
    units = [
        TriedUnit("k.cu", failed, (Complaint("no matching function for call to 'sinf'", (nowhere, there)),)),
        TriedUnit("other.cu", failed, (Complaint("no matching function for call to 'cosf'", (nowhere,)),)),
    ]
    found = [(one.path, one.line, one.col) for one in repair.findings_left(units, discover(tmp_path), ())]
    assert found == [("k.cu", 5, 2), ("other.cu", 1, 1)]
