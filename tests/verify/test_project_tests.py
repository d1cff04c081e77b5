"""The run level's check of a project's own tests: what it says of a run before the port and one after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.verify import project_tests
from kernel_pytorch.verify.isolation.trees import FolderTree
from kernel_pytorch.verify.project_tests import TestRun, check_tests
from kernel_pytorch.verify.settings import read_verify_settings

GOOD = TestRun({"a": "passed", "b": "skipped"}, {}, {"rmsnorm": 3}, {"aten::add": 7})


def judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, after: TestRun, before: TestRun | None
) -> tuple[Status, str]:
    runs = iter([after, *([before] if before else [])])
    monkeypatch.setattr(project_tests, "run_tests", lambda *_: next(runs))
    old = FolderTree(tmp_path) if before else None
    (check,) = check_tests(FolderTree(tmp_path), old, ("tests",), [gpu_by_alias("mi300x")])
    assert check.check == "tests on an emulated MI300X (wave 64)"
    return check.status, check.detail


def test_the_report_says_what_ran_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    status, detail = judged(monkeypatch, tmp_path, GOOD, TestRun(problem="its extension does not build: error: x"))
    assert status is Status.PASS
    assert detail == (
        "1 passed, 1 skipped; before the port: its extension does not build: error: x; "
        "as machine code: rmsnorm (3); on the CPU: 1 of torch's operators (7 calls)"
    )


def test_a_test_that_the_port_broke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = TestRun({"a": "failed"}, {"a": "assert 1 == 2"})
    status, detail = judged(monkeypatch, tmp_path, broken, GOOD)
    assert status is Status.FAIL
    assert detail.startswith("1 of them passed before the port; a: assert 1 == 2; 1 failed;")


def test_no_test_that_passed_is_not_a_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert judged(monkeypatch, tmp_path, TestRun({"a": "skipped"}), None)[0] is Status.NOT_RUN
    assert judged(monkeypatch, tmp_path, TestRun(problem="did not end"), None) == (Status.FAIL, "did not end")


@pytest.mark.parametrize(
    ("other", "status", "detail"),
    [
        (GOOD, Status.PASS, "all 2 of them"),
        (
            TestRun({"a": "failed", "b": "skipped"}),
            Status.FAIL,
            "1 of 2 differ: a passed on MI300X (wave 64), failed on RX 7900 XTX (wave 32)",
        ),
        (
            TestRun({"a": "passed", "b": "passed"}),
            Status.PASS,
            "1 of 2 differ: b skipped on MI300X (wave 64), passed on RX 7900 XTX (wave 32)",
        ),
    ],
)
def test_two_wave_widths_are_compared(
    other: TestRun, status: Status, detail: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = iter([GOOD, other])
    monkeypatch.setattr(project_tests, "run_tests", lambda *_: next(runs))
    gpus = [gpu_by_alias("mi300x"), gpu_by_alias("rx7900xtx")]
    *each, compared = check_tests(FolderTree(tmp_path), None, ("tests",), gpus)
    assert len(each) == 2
    assert compared.check == "tests: the same on MI300X (wave 64) and RX 7900 XTX (wave 32)"
    assert (compared.status, compared.detail) == (status, detail)


def test_a_run_without_results_is_not_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = iter([GOOD, TestRun(problem="did not end")])
    monkeypatch.setattr(project_tests, "run_tests", lambda *_: next(runs))
    checks = check_tests(FolderTree(tmp_path), None, ("tests",), [gpu_by_alias("mi300x"), gpu_by_alias("rx7900xtx")])
    assert [check.status for check in checks] == [Status.PASS, Status.FAIL]


def test_no_test_at_all_is_not_a_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(project_tests, "run_tests", lambda *_: TestRun())
    checks = check_tests(FolderTree(tmp_path), None, ("tests",), [gpu_by_alias("mi300x"), gpu_by_alias("rx7900xtx")])
    assert {check.status for check in checks} == {Status.NOT_RUN}
    assert "no tests" in checks[0].detail and checks[-1].detail == "no test was collected"


def test_the_results_of_a_run_are_read(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(
        '<testsuites><testsuite><testcase classname="t" name="good"/><testcase classname="t" name="bad">'
        '<failure message="assert  1\n== 2"/></testcase><testcase classname="t" name="off"><skipped/></testcase>'
        '<testcase classname="" name="t"><error message="collection failure">a.py:1: in a\nE   ModuleNotFoundError: No '
        "module named 'b'</error></testcase></testsuite></testsuites>"
    )
    fault = {"kind": "unwritten", "kernel": "k", "file": "a.hip", "line": 3}
    run = project_tests._read(results, {"launches": [{"kernel": "k"}] * 2, "faults": [fault], "operators": {"add": 1}})
    assert run.results == {"t::good": "passed", "t::bad": "failed", "t::off": "skipped", "::t": "failed"}
    missing = "collection failure: ModuleNotFoundError: No module named 'b'"
    assert run.messages == {"t::bad": "assert 1 == 2", "::t": missing}
    assert (run.kernels, run.faults) == ({"k": 2}, ("unwritten in k at a.hip:3",))


def test_the_settings_name_tests(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\ntests = ["tests", "-k fast"]\n')
    assert read_verify_settings(tmp_path).tests == ("tests", "-k fast")
