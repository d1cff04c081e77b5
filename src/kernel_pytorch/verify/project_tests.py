"""Run level, the project's own tests: pytest on an emulated GPU, before the port and after it.

The tests run on a copy, with torch's "cuda" device emulated. Triton kernels and C++ extensions run as the machine code
of that GPU; torch's own operators are the CPU's. The result says which were which.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_pytorch.core.children import KPT_GRACE_S
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.toolchain.demangle import demangle, short_name
from kernel_pytorch.verify.isolation.trees import Tree

_NAMED = 4
_LONGEST = 60
_MESSAGE = 160
_BUILD = ("setup.py", "build_ext", "--inplace")


@dataclass(frozen=True)
class TestRun:
    """What one run of a project's tests came to. `problem` says why there are no results."""

    __test__ = False  # not a test of ours

    results: Mapping[str, str] = field(default_factory=dict)  # test -> passed, failed, skipped
    messages: Mapping[str, str] = field(default_factory=dict)  # of those that failed
    kernels: Mapping[str, int] = field(default_factory=dict)  # ran as machine code: launches
    operators: Mapping[str, int] = field(default_factory=dict)  # torch's, computed by the CPU: calls
    faults: tuple[str, ...] = ()
    problem: str = ""

    def named(self, result: str) -> list[str]:
        return [test for test, what in self.results.items() if what == result]


def check_tests(
    after: Tree, before: Tree | None, tests: Sequence[str], gpus: Sequence[GPU], timeout_s: float = 600.0
) -> list[CheckResult]:
    """The project's tests on each emulated GPU, and whether they end alike on all of them."""
    runs: dict[str, TestRun] = {}
    checks = []
    for gpu in gpus:
        shown = f"{gpu.name} (wave {gpu.target.wave_size})"
        runs[shown] = run_tests(after, tests, gpu, timeout_s)
        old = run_tests(before, tests, gpu, timeout_s) if before is not None and not runs[shown].problem else None
        checks.append(_judged(f"{' '.join(tests)} on an emulated {shown}", runs[shown], old))
    there = {name: run for name, run in runs.items() if not run.problem}
    return [*checks, _compared(" ".join(tests), there)] if len(there) > 1 else checks


def _compared(tests: str, runs: Mapping[str, TestRun]) -> CheckResult:
    """A test that passes at one wave width and fails at another depends on it."""
    name = f"{tests}: the same on {' and '.join(runs)}"
    every = sorted({test for run in runs.values() for test in run.results})
    outcomes = {test: {gpu: run.results.get(test, "not run") for gpu, run in runs.items()} for test in every}
    differ = {test: found for test, found in outcomes.items() if len(set(found.values())) > 1}
    if not every:
        return CheckResult(name, Status.NOT_RUN, "no test was collected")
    if not differ:
        return CheckResult(name, Status.PASS, f"all {len(every)} of them")
    first = [f"{test} {', '.join(f'{what} on {gpu}' for gpu, what in differ[test].items())}" for test in differ]
    worst = any({"passed", "failed"} <= set(found.values()) for found in differ.values())
    detail = f"{len(differ)} of {len(every)} differ: {'; '.join(first[:_NAMED])}"
    # A test that a GPU cannot run is skipped there by its author: said, and no fault.
    return CheckResult(name, Status.FAIL if worst else Status.PASS, detail)


def _judged(name: str, new: TestRun, old: TestRun | None) -> CheckResult:
    """A test that passed before the port must pass after it."""
    if new.problem:
        return CheckResult(name, Status.FAIL, new.problem)
    failed, lost = new.named("failed"), []
    if old is not None and not old.problem:
        lost = [test for test in failed if old.results.get(test) == "passed"]
    detail = f"{_counts(new)}; {_before(old)}{_where(new.kernels, new.operators)}"
    if failed or new.faults:
        first = "; ".join(
            [*(f"{test}: {new.messages.get(test, '')}" for test in failed[:_NAMED]), *new.faults[:_NAMED]]
        )
        broken = f"{len(lost)} of them passed before the port; " if lost else ""
        return CheckResult(name, Status.FAIL, f"{broken}{first}; {detail}")
    if not new.named("passed"):
        return CheckResult(name, Status.NOT_RUN, f"no test passed: {detail}")
    return CheckResult(name, Status.PASS, detail)


def run_tests(tree: Tree, tests: Sequence[str], gpu: GPU | None, timeout_s: float) -> TestRun:
    """Copy the project, build its extension in place where it has one, and run pytest, all on the emulated GPU.

    Without a GPU they run as they are, on the plain CPU.
    """
    with tempfile.TemporaryDirectory(prefix="kpt-tests-") as scratch:
        folder, results = Path(scratch) / "project", Path(scratch) / "results.xml"
        _write(tree, folder)
        setup = read_if_there(folder / "setup.py") or b""
        if b"cpp_extension" in setup:
            built = _run(gpu, [*_BUILD], folder, timeout_s)
            if isinstance(built, str) or built["exit_code"] != 0:
                words = built if isinstance(built, str) else _last_words(built)
                return TestRun(problem=f"its extension does not build: {words}")
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}", *tests]
        ran = _run(gpu, command, folder, timeout_s)
        if isinstance(ran, str):
            return TestRun(problem=ran)
        if not results.is_file():
            return TestRun(problem=f"pytest ended with status {ran['exit_code']}: {_last_words(ran)}")
        return _read(results, ran["events"])


def _write(tree: Tree, folder: Path) -> None:
    for path in sorted(tree.paths()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(tree.read(path))


def _run(gpu: GPU | None, words: Sequence[str], folder: Path, timeout_s: float) -> dict[str, Any] | str:
    """One run under `kpt emulate`, as its JSON has it; a sentence where there is none."""
    command = [sys.executable, *words]
    if gpu is not None:
        command = python_module("kernel_pytorch", "emulate", "--gpu", gpu.alias, "--json", "--", *command)
    try:
        done = run_child(command, cwd=folder, timeout_s=timeout_s, grace_s=KPT_GRACE_S)
    except subprocess.TimeoutExpired:
        return f"did not end within {timeout_s:g} s"
    if gpu is None:
        nothing = {"launches": (), "faults": ()}
        return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr, "events": nothing}
    if not done.stdout.strip():
        return (done.stderr.strip().splitlines() or ["said nothing"])[-1]
    (run,) = json.loads(done.stdout)["runs"]
    found: dict[str, Any] = run
    return found


def _read(results: Path, events: Mapping[str, Any]) -> TestRun:
    outcome: dict[str, str] = {}
    messages: dict[str, str] = {}
    for case in ET.parse(results).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        if problem is not None:
            outcome[test] = "failed"
            messages[test] = _message(problem)
        else:
            outcome[test] = "skipped" if case.find("skipped") is not None else "passed"
    kernels = _kernels(events)
    faults = tuple(f"{one['kind']} in {one['kernel']} at {one['file']}:{one['line']}" for one in events["faults"])
    return TestRun(outcome, messages, kernels, events.get("operators", {}), faults)


def _message(problem: ET.Element) -> str:
    """Why a test failed. For a file that could not be imported pytest says only that: the reason is in the text."""
    said = problem.get("message") or ""
    reasons = [line[1:] for line in (problem.text or "").splitlines() if line.startswith("E ")]
    if said == "collection failure" and reasons:
        said = f"{said}: {reasons[-1]}"
    return " ".join(said.split())[:_MESSAGE]


def _counts(run: TestRun) -> str:
    counts = Counter(run.results.values())
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "skipped") if counts[kind]) or "no tests"


def _before(old: TestRun | None) -> str:
    if old is None:
        return ""
    return f"before the port: {old.problem or _counts(old)}; "


def where_it_ran(events: Mapping[str, Any]) -> str:
    """Which kernels ran as machine code in an emulated run, and how much of torch the CPU computed."""
    return _where(_kernels(events), events.get("operators", {}))


def _kernels(events: Mapping[str, Any]) -> Counter[str]:
    return Counter(short_name(demangle(launch["kernel"])) for launch in events["launches"])


def _where(kernels: Mapping[str, int], operators: Mapping[str, int]) -> str:
    # A template of a library can have a name of a thousand characters.
    named = ", ".join(f"{name[:_LONGEST]} ({count})" for name, count in Counter(kernels).most_common())
    computed = f"{len(operators)} of torch's operators ({sum(operators.values())} calls)"
    return f"as machine code: {named or 'no kernel'}; on the CPU: {computed}"


def _last_words(run: Mapping[str, Any]) -> str:
    """What the program said last: a compiler's error where there is one."""
    lines = [line.strip() for line in f"{run['stdout']}\n{run['stderr']}".splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()]
    return (errors or lines or ["said nothing"])[-1 if not errors else 0][:300]
