"""Run level, the project's own tests: pytest on an emulated GPU, before the port and after it.

The tests run on a copy, with torch's "cuda" device emulated. Triton kernels and C++ extensions run as the machine code
of that GPU; torch's own operators are the CPU's. The result says which were which.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernel_pytorch.core.children import KPT_GRACE_S
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.python.setup_scripts import builds_extensions
from kernel_pytorch.toolchain.demangle import demangle, short_name
from kernel_pytorch.verify.isolation.trees import Tree, read_through_links
from kernel_pytorch.verify.place_for_tests import place_for_tests

_NAMED = 4
_LONGEST = 60
_MESSAGE = 160
_BUILD = ("build_ext", "--inplace")
_START = Path(__file__).with_name("pytest_start")
_PLUGIN = "kpt_test_lines"
_BUILDERS = ("setup.py", "CMakeLists.txt")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_END_S = 60.0  # for `kpt emulate` to end a program that is late, and to say what ran


@dataclass(frozen=True)
class TestRun:
    """What one run of a project's tests came to. `problem` says why results are missing; those there are stay."""

    __test__ = False  # not a test of ours

    results: Mapping[str, str] = field(default_factory=dict)  # test -> passed, failed, skipped, running, not run
    messages: Mapping[str, str] = field(default_factory=dict)  # of those that failed or could not run here
    kernels: Mapping[str, int] = field(default_factory=dict)  # ran as machine code: launches
    operators: Mapping[str, int] = field(default_factory=dict)  # torch's, computed by the CPU: calls
    faults: tuple[str, ...] = ()
    problem: str = ""
    not_here: bool = False  # the problem is this machine: a package is missing, the time was not enough

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
    ended = ("passed", "failed", "skipped")
    every = sorted({test for run in runs.values() for test, result in run.results.items() if result in ended})
    outcomes = {test: {gpu: run.results.get(test, "not run") for gpu, run in runs.items()} for test in every}
    differ = {test: found for test, found in outcomes.items() if len(set(found.values())) > 1}
    if not every:
        return CheckResult(name, Status.NOT_RUN, "no test was collected and ended")
    if not differ:
        return CheckResult(name, Status.PASS, f"all {len(every)} of them")
    first = [f"{test} {', '.join(f'{what} on {gpu}' for gpu, what in differ[test].items())}" for test in differ]
    worst = any({"passed", "failed"} <= set(found.values()) for found in differ.values())
    detail = f"{len(differ)} of {len(every)} differ: {'; '.join(first[:_NAMED])}"
    # A test that a GPU cannot run is skipped there by its author: said, and no fault.
    return CheckResult(name, Status.FAIL if worst else Status.PASS, detail)


def _judged(name: str, new: TestRun, old: TestRun | None) -> CheckResult:
    """A test that passed before the port must pass after it. One that failed before as well is a warning."""
    if new.problem and not new.results:
        return CheckResult(name, Status.NOT_RUN if new.not_here else Status.FAIL, new.problem)
    failed, lacking = new.named("failed"), new.named("not run")
    comparable = old is not None and not old.problem
    before = old.results if old is not None and comparable else {}
    lost = [test for test in failed if before.get(test) == "passed"]
    faults = [one for one in new.faults if old is None or not comparable or one not in old.faults]
    parts = [f"{len(lost)} of them passed before the port"] if lost else []
    same = bool(failed) and all(before.get(test) == "failed" for test in failed)
    if same:
        parts.append(f"all {len(failed)} that failed did so before the port too")
    parts += [f"{test}: {new.messages.get(test, '')}" for test in (*(lost or failed), *lacking)[:_NAMED]]
    known = [f"{one}, before the port too" for one in new.faults if one not in faults]
    parts += [*faults[:_NAMED], *known[:_NAMED], *([new.problem] if new.problem else [])]
    detail = "; ".join([*parts, f"{_counts(new)}; {_before(old)}{_where(new.kernels, new.operators)}"])
    if faults or (failed and not same) or (new.problem and not new.not_here):
        return CheckResult(name, Status.FAIL, detail)
    if not new.named("passed"):
        return CheckResult(name, Status.NOT_RUN, detail if parts else f"no test passed: {detail}")
    return CheckResult(name, Status.WARN if parts else Status.PASS, detail)


def run_tests(tree: Tree, tests: Sequence[str], gpu: GPU | None, timeout_s: float) -> TestRun:
    """Copy the project, build its extension in place where it has one, and run pytest, all on the emulated GPU.

    Without a GPU they run as they are, on the plain CPU.
    """
    with place_for_tests() as place:
        folder, lines = place / "project", place / "results.jsonl"
        _write(tree, folder)
        for setup in _setups(folder):
            built = _run(gpu, [setup, *_BUILD], folder, timeout_s)
            if isinstance(built, str) or built["exit_code"] != 0:
                words = built if isinstance(built, str) else _last_words(built, timeout_s)
                lacking = _lacking(words, folder)
                return TestRun(problem=f"its extension does not build: {lacking or words}", not_here=bool(lacking))
        # A file that cannot be imported is one finding, and no reason to leave out the others.
        more = ["-p", "no:cacheprovider", "-p", _PLUGIN, "--continue-on-collection-errors"]
        command = ["-m", "pytest", "-q", *more, *tests]
        ran = _run(gpu, command, folder, timeout_s, _for_pytest(folder, lines))
        if isinstance(ran, str):
            return TestRun(problem=ran, not_here=True)
        said = lines.read_text(encoding="utf-8") if lines.is_file() else ""
        run = read_lines(said, ran["events"], folder)
        if ran["exit_code"] is None:
            running = [test for test, result in run.results.items() if result == "running"]
            where = f", in {running[-1]}" if running else ""
            return replace(run, problem=f"did not end within {timeout_s:g} s{where}", not_here=True)
        if ran["exit_code"] in (0, 1, 5) and not run.named("running"):  # pytest's: passed, failed, no tests
            return run
        words = _last_words(ran, timeout_s)
        lacking = "" if run.results else _lacking(words, folder)
        problem = lacking or f"pytest ended with status {ran['exit_code']}: {words}"
        return replace(run, problem=problem, not_here=bool(lacking))


def _setups(folder: Path) -> list[str]:
    """The setup scripts in the project's folder that have torch build an extension."""
    found = {file.name: read_if_there(file) or b"" for file in sorted(folder.glob("*.py"))}
    return [name for name, data in found.items() if b"cpp_extension" in data and builds_extensions(name, data)]


def _write(tree: Tree, folder: Path) -> None:
    for path in sorted(tree.paths()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        link = tree.link(path)
        if link is not None and not posixpath.normpath(posixpath.join(posixpath.dirname(path), link)).startswith(
            ("..", "/")
        ):
            target.symlink_to(link)
        else:
            target.write_bytes(read_through_links(tree, path))


def _for_pytest(folder: Path, lines: Path) -> dict[str, str]:
    """The environment of pytest: our plugin, and the copy before any installed state of the project."""
    source = folder / "src"
    has_packages = source.is_dir() and any((child / "__init__.py").is_file() for child in source.iterdir())
    paths = [folder, *([source] if has_packages else [])]
    search = [str(_START), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(search),
        "KPT_TEST_LINES": str(lines),
        "KPT_TEST_PATHS": os.pathsep.join(map(str, paths)),
    }


def _run(
    gpu: GPU | None, words: Sequence[str], folder: Path, timeout_s: float, environment: Mapping[str, str] | None = None
) -> dict[str, Any] | str:
    """One run under `kpt emulate`, as its JSON has it; a sentence where there is none."""
    command, more = [sys.executable, *words], 0.0
    if gpu is not None:
        limit = ("--timeout", f"{timeout_s:g}")
        command = python_module("kernel_pytorch", "emulate", "--gpu", gpu.alias, *limit, "--json", "--", *command)
        more = _END_S
    try:
        done = run_child(command, cwd=folder, timeout_s=timeout_s + more, grace_s=KPT_GRACE_S, env=environment)
    except subprocess.TimeoutExpired as late:
        nothing = {"launches": (), "faults": ()}
        if gpu is None:
            return {"exit_code": None, "stdout": late.output or "", "stderr": late.stderr or "", "events": nothing}
        return f"did not end within {timeout_s + more:g} s"
    if gpu is None:
        nothing = {"launches": (), "faults": ()}
        return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr, "events": nothing}
    if not done.stdout.strip():
        return (done.stderr.strip().splitlines() or ["said nothing"])[-1]
    (run,) = json.loads(done.stdout)["runs"]
    found: dict[str, Any] = run
    return found


def read_lines(lines: str, events: Mapping[str, Any], folder: Path) -> TestRun:
    """What our pytest plugin wrote about a run in `folder`."""
    outcome: dict[str, str] = {}
    messages: dict[str, str] = {}
    for line in map(json.loads, filter(None, lines.splitlines())):
        test, result = line["test"] or "the tests", line["result"]
        if result == "passed" and outcome.get(test) == "failed":
            continue
        if result == "failed":
            lacking = "" if line.get("collected", True) else _lacking(line["message"], folder)
            result = "not run" if lacking else "failed"
            messages[test] = lacking or _message(line, folder)
        outcome[test] = result
    kernels = _kernels(events)
    named = (f"{one['kind']} in {one['kernel']} at {one['file']}:{one['line']}" for one in events["faults"])
    faults = tuple(dict.fromkeys(name.replace(f"{folder}/", "") for name in named))
    return TestRun(outcome, messages, kernels, events.get("operators", {}), faults)


def _message(line: Mapping[str, Any], folder: Path) -> str:
    """Why a test failed: pytest's words, and the compiler's where one was started."""
    said = line["message"] if line.get("collected", True) else f"cannot be imported: {line['message']}"
    compiler = line.get("compiler", "")
    words = f"{said[:_MESSAGE]}: {compiler}" if compiler and compiler not in said[:_MESSAGE] else said
    return " ".join(words.replace(f"{folder}/", "").split())[: 2 * _MESSAGE if compiler else _MESSAGE]


def _lacking(words: str, folder: Path) -> str:
    """A sentence where what is missing is a package that is not of the project."""
    found = _NO_MODULE.search(words)
    if found is None:
        return ""
    package = found[1].partition(".")[0]
    own = [place for part in (".", "src") for place in (folder / part / package, folder / part / f"{package}.py")]
    # An extension of the project that was not built is missing as well: its name is in the files that build it.
    builds = re.compile(rf"(Extension|add_library|add_module)\s*\([^)]{{0,80}}?\b{package}\b".encode())
    built_here = any(builds.search(read_if_there(folder / one) or b"") for one in (*_BUILDERS, *_setups(folder)))
    if built_here or any(place.exists() for place in own):
        return ""
    return f"the package {package} is not installed here (pip install it beside kpt)"


def _counts(run: TestRun) -> str:
    counts = Counter(run.results.values())
    kinds = {"passed": "passed", "failed": "failed", "skipped": "skipped", "not run": "not run", "running": "not ended"}
    return ", ".join(f"{counts[kind]} {word}" for kind, word in kinds.items() if counts[kind]) or "no tests"


def _before(old: TestRun | None) -> str:
    if old is None:
        return ""
    why = ""
    if not old.problem and not old.named("passed") and old.messages:
        why = " ({}: {})".format(*next(iter(old.messages.items())))
    return f"before the port: {old.problem or _counts(old)}{why}; "


def where_it_ran(events: Mapping[str, Any]) -> str:
    """Which kernels ran as machine code in an emulated run, and how much of torch the CPU computed."""
    return _where(_kernels(events), events.get("operators", {}))


def _kernels(events: Mapping[str, Any]) -> Counter[str]:
    return Counter(short_name(demangle(launch["kernel"])) for launch in events["launches"])


def _where(kernels: Mapping[str, int], operators: Mapping[str, int]) -> str:
    # A template of a library can have a name of a thousand characters.
    named = ", ".join(f"{name[:_LONGEST]} ({count})" for name, count in Counter(kernels).most_common())
    most = ", ".join(name.removeprefix("aten::") for name, _ in Counter(operators).most_common(_NAMED))
    calls = f"{sum(operators.values())} calls{f', most of {most}' if most else ''}"
    computed = f"{len(operators)} of torch's operators ({calls})"
    return f"as machine code: {named or 'no kernel'}; on the CPU: {computed}"


def _last_words(run: Mapping[str, Any], timeout_s: float) -> str:
    """What the program said last: a compiler's error where there is one."""
    if run["exit_code"] is None:
        return f"did not end within {timeout_s:g} s"
    lines = [line.strip() for line in f"{run['stdout']}\n{run['stderr']}".splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()]
    return (errors or lines or ["said nothing"])[-1 if not errors else 0][:300]
