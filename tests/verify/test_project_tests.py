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
        "as machine code: rmsnorm (3); on the CPU: 1 of torch's operators (7 calls, most of add)"
    )


def test_a_test_that_the_port_broke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = TestRun({"a": "failed"}, {"a": "assert 1 == 2"})
    status, detail = judged(monkeypatch, tmp_path, broken, GOOD)
    assert status is Status.FAIL
    assert detail.startswith("1 of them passed before the port; a: assert 1 == 2; 1 failed;")


def test_no_test_that_passed_is_not_a_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert judged(monkeypatch, tmp_path, TestRun({"a": "skipped"}), None)[0] is Status.NOT_RUN
    assert judged(monkeypatch, tmp_path, TestRun(problem="pytest crashed"), None) == (Status.FAIL, "pytest crashed")


def test_why_nothing_passed_before_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = TestRun({"t.py": "failed"}, {"t.py": "cannot be imported: x"})
    assert "before the port: 1 failed (t.py: cannot be imported: x);" in judged(monkeypatch, tmp_path, GOOD, old)[1]


def test_a_test_that_failed_before_too_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = TestRun({"a": "failed", "b": "passed"}, {"a": "no file data.bin"})
    status, detail = judged(monkeypatch, tmp_path, run, run)
    assert status is Status.WARN
    assert detail.startswith("all 1 that failed did so before the port too; a: no file data.bin; 1 passed, 1 failed;")


def test_what_a_kernel_did_wrong_before_too_is_a_warning_with_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = TestRun({"a": "passed"}, faults=("out-of-bounds in k at k.cu:7",))
    status, detail = judged(monkeypatch, tmp_path, run, run)
    assert status is Status.WARN and "out-of-bounds in k at k.cu:7, before the port too" in detail


def test_what_this_machine_lacks_is_no_failure_and_no_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lacks = "the package b is not installed here"
    alone = TestRun(problem=lacks, not_here=True)
    assert judged(monkeypatch, tmp_path, alone, None) == (Status.NOT_RUN, lacks)
    part = TestRun({"t.py": "not run", "u.py::a": "passed"}, {"t.py": lacks})
    status, detail = judged(monkeypatch, tmp_path, part, None)
    assert status is Status.WARN
    assert detail.startswith(f"t.py: {lacks}; 1 passed, 1 not run;")
    late = TestRun({"a": "passed", "b": "running"}, problem="did not end within 9 s, in b", not_here=True)
    status, detail = judged(monkeypatch, tmp_path, late, None)
    assert (status, detail.split("; ")[:2]) == (
        Status.WARN,
        ["did not end within 9 s, in b", "1 passed, 1 not ended"],
    )
    failed = TestRun({"a": "failed", "b": "running"}, {"a": "1 != 2"}, problem="did not end", not_here=True)
    assert judged(monkeypatch, tmp_path, failed, None)[0] is Status.FAIL


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
    assert "no tests" in checks[0].detail and checks[-1].detail == "no test was collected and ended"


PROJECT = {
    "src/own/__init__.py": "WHERE = __file__",
    "tests/data/real.txt": "7",
    "tests/test_good.py": """
import own, pytest, subprocess, sys
from pathlib import Path

def test_the_copy_is_imported():
    assert Path(own.__file__).is_relative_to(Path.cwd())

def test_a_link_leads_to_its_file():
    assert (Path(__file__).parent / "link.txt").read_text() == "7"

def test_a_compiler_is_quoted():
    print("a.hip:3:5: error: unknown type name 'half2'")
    raise RuntimeError("Error building extension 'fast'")

def test_a_word_of_hips_is_no_compilers():
    raise RuntimeError("HIP error: an illegal address")

def test_an_error_that_carries_another():
    carried = "Traceback of it (most recent call last):\\n  File a, line 1\\nRuntimeError: no such device\\n"
    raise RuntimeError("It failed in the interpreter.\\n" + carried)

@pytest.mark.skip(reason="not here")
def test_off():
    pass

@pytest.fixture
def broken():
    yield
    raise ValueError("at the end")

def test_whose_end_fails(broken):
    pass
""",
    "tests/test_lacks.py": "import nobody_has_this.part",
    "tests/test_broken.py": "import own.missing_module",
}


def write_project(root: Path, files: dict[str, str]) -> FolderTree:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return FolderTree(root)


def test_a_run_on_the_cpu_is_read_test_by_test(tmp_path: Path) -> None:
    tree = write_project(tmp_path, PROJECT)
    (tmp_path / "tests" / "link.txt").symlink_to("data/real.txt")
    run = project_tests.run_tests(tree, ("tests",), None, 120)
    assert run.problem == ""
    good = "tests/test_good.py::test_"
    assert run.results == {
        f"{good}the_copy_is_imported": "passed",
        f"{good}a_link_leads_to_its_file": "passed",
        f"{good}a_compiler_is_quoted": "failed",
        f"{good}a_word_of_hips_is_no_compilers": "failed",
        f"{good}an_error_that_carries_another": "failed",
        f"{good}off": "skipped",
        f"{good}whose_end_fails": "failed",
        "tests/test_lacks.py": "not run",
        "tests/test_broken.py": "failed",
    }
    said = run.messages[f"{good}a_compiler_is_quoted"]
    assert said.endswith("Error building extension 'fast': a.hip:3:5: error: unknown type name 'half2'")
    assert run.messages[f"{good}a_word_of_hips_is_no_compilers"] == "RuntimeError: HIP error: an illegal address"
    assert run.messages[f"{good}an_error_that_carries_another"] == "RuntimeError: no such device"
    assert "nobody_has_this is not installed" in run.messages["tests/test_lacks.py"]
    assert run.messages["tests/test_broken.py"].startswith("cannot be imported: ModuleNotFoundError")


def test_a_run_that_is_stopped_keeps_what_ended(tmp_path: Path) -> None:
    slow = "import time\ndef test_a():\n    pass\ndef test_b():\n    time.sleep(600)\n"
    tree = write_project(tmp_path, {"test_slow.py": slow})
    run = project_tests.run_tests(tree, ("test_slow.py",), None, 15)
    assert run.results == {"test_slow.py::test_a": "passed", "test_slow.py::test_b": "running"}
    assert (run.problem, run.not_here) == ("did not end within 15 s, in test_slow.py::test_b", True)


def test_a_conftest_that_lacks_a_package_is_not_run(tmp_path: Path) -> None:
    tree = write_project(tmp_path, {"conftest.py": "import nobody_has_this", "test_a.py": "def test_a():\n    pass\n"})
    run = project_tests.run_tests(tree, ("test_a.py",), None, 120)
    assert run.not_here and "nobody_has_this is not installed" in run.problem


def test_an_extension_of_the_project_is_nothing_to_install(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("ext_modules=[CUDAExtension(name='fast_ops', sources=[])], requires=['einops']")
    lacking = project_tests._lacking
    assert lacking("No module named 'fast_ops'", tmp_path) == ""
    assert "einops is not installed" in lacking("No module named 'einops'", tmp_path)


def test_launches_faults_and_operators_are_counted(tmp_path: Path) -> None:
    fault = {"kind": "unwritten", "kernel": "k", "file": str(tmp_path / "a.hip"), "line": 3}
    events = {"launches": [{"kernel": "k"}] * 2, "faults": [fault] * 2, "operators": {"add": 1}}
    run = project_tests.read_lines("", events, tmp_path)
    assert (run.kernels, run.operators, run.faults) == ({"k": 2}, {"add": 1}, ("unwritten in k at a.hip:3",))


def test_the_settings_name_tests(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\ntests = ["tests", "-k fast"]\n')
    assert read_verify_settings(tmp_path).tests == ("tests", "-k fast")
