"""Equal reasons are read once: in the terminal and on the pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.report.check_groups import check_groups

WITHOUT_TORCH = "torch is not installed: pip install torch"


def not_run(name: str, detail: str = WITHOUT_TORCH) -> CheckResult:
    return CheckResult(name, Status.NOT_RUN, detail)


def test_equal_reasons_are_one_group_with_the_first_names() -> None:
    names = ["a.cu", "b.cu", "c.cu", "d.cu", "e.cu"]
    checks = [not_run(f"build {name} for gfx942") for name in names]
    failed = CheckResult("build f.cu for gfx942", Status.FAIL, WITHOUT_TORCH)
    other = not_run("build g.cu for gfx942", "includes torch's headers")
    groups = check_groups([checks[0], failed, *checks[1:], other])
    assert [group.title for group in groups] == [
        "5 checks: build a.cu, b.cu, c.cu and 2 more for gfx942",
        "build f.cu for gfx942",
        "build g.cu for gfx942",
    ]
    assert groups[0].checks == tuple(checks)


def test_a_library_that_is_missing_in_every_source_is_named_once() -> None:
    reason = "includes mpi.h, which no include folder has"
    checks = [not_run(f"build {name} for gfx942", f"{name}:7 {reason}") for name in ("a.cu", "b.cu", "c.cu")]
    (group,) = check_groups(checks)
    assert group.detail == f"a.cu:7 {reason}" and len(group.checks) == 3


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("build a.cu for gfx942", "build a.cu for gfx1100"), "2 checks: build a.cu for gfx942 and gfx1100"),
        (("setup.py", "setup.py"), "2 checks: setup.py and setup.py"),
        (("build", "build a.cu"), "2 checks: build and build a.cu"),
        (("one", "two words"), "2 checks: one and two words"),
    ],
)
def test_titles_keep_a_word_of_each_name(names: tuple[str, ...], title: str) -> None:
    (group,) = check_groups([not_run(name) for name in names])
    assert group.title == title


def test_a_check_that_passed_stays_alone() -> None:
    checks = [CheckResult(f"build {name}", Status.PASS, "device and host pass") for name in ("a.cu", "b.cu")]
    assert [group.title for group in check_groups(checks)] == ["build a.cu", "build b.cu"]


def test_a_port_without_torch_gives_the_reason_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jinja2")
    project = tmp_path / "project"
    project.mkdir()
    names = [f"k{number}" for number in range(5)]
    (project / "setup.py").write_text(
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        f"setup(ext_modules=[CUDAExtension('ext', {[name + '.cu' for name in names]})])\n"
    )
    for name in names:
        kernel = "__global__ void k(float* x) { x[0] = __shfl_down_sync(0xffffffff, x[0], 1); }\n"
        (project / f"{name}.cu").write_text(f"#include <torch/extension.h>\n{kernel}")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    page = tmp_path / "port.html"
    main(["port", str(project), "--out", str(tmp_path / "ported"), "--no-run", "--html", str(page)])
    said = capsys.readouterr().err
    reasons = [line for line in said.splitlines() if "torch is not installed" in line]
    assert len(reasons) == 1 and "  5 checks: build k0.cu, k1.cu, k2.cu and 2 more for gfx942: torch is" in reasons[0]
    text = page.read_text()
    assert text.count("torch is not installed") == 1
    assert "<small>build k4.cu for gfx942</small>" in text  # all of them when the row is opened
