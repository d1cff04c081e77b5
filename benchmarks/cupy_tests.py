#!/usr/bin/env python3
"""CuPy's own test suite, run by its unmodified ROCm wheel on an emulated GPU: a sample that is spread over every file.

    python -m venv venv && venv/bin/pip install cupy-rocm-7-0==14.2 pytest scipy
    git clone --branch v14.2.0 https://github.com/cupy/cupy
    python benchmarks/cupy_tests.py cupy/tests venv/bin/python --gpu mi300x --json out.json [--minutes 60] [--rounds 3]

How the sample is drawn: the files of AREAS are collected, and the cases of each file are put in the order of the
SHA-256 of their names. Round one takes the first case of every file, round two the second, and so on until `--rounds`
or `--minutes` is reached; the cases of a round are in that order too. Nothing is chosen by its outcome or its time, so
the sample is fair wherever it is cut off. A case that takes more than `--limit` seconds counts as not ended, never as
passed; skips are CuPy's own. The outcome file is added to as it goes: a second call goes on where the first stopped.
`--again REGEX` runs known cases once more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

# What stands for what, as patterns below tests/cupy_tests; a file belongs to the first area that names it.
AREAS = {
    "RawKernel": ("core_tests/test_raw.py", "core_tests/test_userkernel.py", "core_tests/test_function.py",
                  "core_tests/test_carray.py", "core_tests/test_mdspan.py", "core_tests/test_include.py"),
    "reductions": ("core_tests/test_*reduction.py", "core_tests/test_scan.py", "math_tests/test_sumprod.py",
                   "statistics_tests/test_*.py", "logic_tests/test_truth.py"),
    "indexing": ("core_tests/test_ndarray_*indexing.py", "core_tests/test_ndarray_scatter.py",
                 "indexing_tests/test_*.py"),
    "elementwise": ("core_tests/test_elementwise.py", "core_tests/test_ndarray_*op*.py", "core_tests/test_*ufunc*.py",
                    "core_tests/test_ndarray_math.py", "core_tests/test_nep50_examples.py", "math_tests/test_*.py",
                    "logic_tests/test_*.py"),
    "linalg": ("linalg_tests/test_*.py",),
    "fft": ("fft_tests/test_*.py",),
    "random": ("random_tests/test_*.py",),
    "sorting": ("sorting_tests/test_*.py",),
}  # fmt: skip
BATCH = 24  # cases in one process: collecting all files takes a minute of CPU
# Written beside the cases and loaded with -p: one line of JSON for each case, so that a run that is stopped loses none.
PLUGIN = """
import json, os, signal
import pytest
LIMIT = int(os.environ["KPT_CASE_LIMIT"])
class NotEnded(BaseException):
    pass
def stop(*_):
    raise NotEnded()
def say(**fields):
    with open(os.environ["KPT_OUTCOMES"], "a") as file:
        file.write(json.dumps(fields) + "\\n")
def pytest_collection_modifyitems(config, items):
    if wanted := os.environ.get("KPT_CASES"):
        order = {name: at for at, name in enumerate(json.load(open(wanted)))}
        items[:] = sorted((one for one in items if one.nodeid in order), key=lambda one: order[one.nodeid])
    else:
        json.dump([one.nodeid for one in items], open(os.environ["KPT_OUTCOMES"], "w"))
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    say(case=item.nodeid, outcome="started", reason="")
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    reason = crash.message if crash else str(report.longrepr or "")
    outcome = "xfail" if hasattr(report, "wasxfail") and report.skipped else report.outcome
    if "NotEnded" in reason:
        outcome = "not ended"
    said = " | ".join(line for line in report.capstderr.splitlines() if "kpt" in line)
    say(case=report.nodeid, outcome=outcome, reason=reason[:200] + " ... " + reason[-400:], said=said[-600:])
"""


def files_of(tests: Path) -> dict[str, str]:
    """The area of each test file, by its path below `tests`."""
    found: dict[str, str] = {}
    for area, patterns in AREAS.items():
        for pattern in patterns:
            for file in sorted((tests / "cupy_tests").glob(pattern)):
                found.setdefault(file.relative_to(tests).as_posix(), area)
    return found


def run_pytest(args: argparse.Namespace, words: list[str], folder: Path, limit: float, **variables: str) -> str:
    """Runs pytest on the emulated GPU with the plugin; the end of what it printed."""
    (folder / "kpt_outcomes.py").write_text(PLUGIN)
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(folder)]))
    environment = {**os.environ, "PYTHONPATH": path, "CUPY_TEST_GPU_LIMIT": "1", "KPT_CASE_LIMIT": str(args.limit),
                   "CUPY_CACHE_DIR": str(args.cache), **variables}  # fmt: skip
    emulate = [sys.executable, "-m", "kernel_pytorch", "emulate", "--gpu", args.gpu, "--quick", "--"]
    command = [*emulate, str(args.python.absolute()), "-m", "pytest", "-q", "-p", "kpt_outcomes", "-p",
               "no:cacheprovider", "--tb=short", f"--rootdir={args.tests}", "-W", "ignore", *words]  # fmt: skip
    with (folder / "log").open("w") as log:
        child = subprocess.Popen(command, cwd=args.tests, env=environment, stdout=log, stderr=log)
        try:
            child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            child.terminate()
            child.wait()
    return (folder / "log").read_text(errors="replace")[-3000:]


def collect(args: argparse.Namespace, files: list[str]) -> list[str]:
    """The names of all cases in the order of the draw."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = run_pytest(args, ["--collect-only", *files], folder, 3600, KPT_OUTCOMES=str(folder / "out"))
        if not (folder / "out").is_file():
            sys.exit(f"nothing was collected:\n{said}")
        found = json.loads((folder / "out").read_text())
    by_file: dict[str, list[str]] = defaultdict(list)
    for case in found:
        by_file[case.partition("::")[0]].append(case)
    rounds: list[list[str]] = []
    for cases in by_file.values():
        for number, case in enumerate(sorted(cases, key=drawn)):
            if number == len(rounds):
                rounds.append([])
            rounds[number].append(case)
    return [case for one in rounds for case in sorted(one, key=drawn)]


def drawn(case: str) -> bytes:
    """What cases are sorted by: as good as chance, and the same for everyone."""
    return hashlib.sha256(case.encode()).digest()


def run_cases(args: argparse.Namespace, cases: list[str], known: dict[str, dict[str, str]], until: float) -> None:
    """Runs some cases in one process and adds their outcomes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cases").write_text(json.dumps(cases))
        files = list(dict.fromkeys(case.partition("::")[0] for case in cases))
        limit = max(60.0, min(until - time.time(), 3600.0))
        said = run_pytest(args, files, folder, limit, KPT_OUTCOMES=str(folder / "out"), KPT_CASES=str(folder / "cases"))
        lines = (folder / "out").read_text().splitlines() if (folder / "out").is_file() else []
        for line in lines:
            one = json.loads(line)
            known["cases"][one.pop("case")] = one
        # What was under way when the process ended took it down, unless our own time was over.
        for case in [case for case in cases if known["cases"].get(case, {}).get("outcome") == "started"]:
            if time.time() >= until:
                del known["cases"][case]
            else:
                known["cases"][case] = {"outcome": "failed", "reason": "the process ended: " + said[-500:]}
        if not lines:
            sys.exit(f"no case was run:\n{said}")


def main() -> int:
    """Runs what is not in the outcome file, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path, help="the folder tests of CuPy's repository")
    parser.add_argument("python", type=Path, help="the Python that has the wheel, pytest and SciPy")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--rounds", type=int, default=2, help="cases of each file")
    parser.add_argument("--minutes", type=float, default=60, help="no case is begun after this time")
    parser.add_argument("--limit", type=int, default=900, help="seconds for each case")
    parser.add_argument("--match", default="", help="only areas and files that match this regular expression")
    parser.add_argument("--again", help="run the known cases that match this once more, and no others")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "kpt-cupy-tests", help="CuPy's own")
    parser.add_argument("--json", type=Path, required=True)
    args = parser.parse_args()
    args.tests = args.tests.resolve()
    until = time.time() + 60 * args.minutes
    files = files_of(args.tests)
    known = json.loads(args.json.read_text()) if args.json.is_file() else {"order": [], "cases": {}}
    known["order"] = known["order"] or collect(args, list(files))
    args.json.write_text(json.dumps(known, indent=1))
    if args.again:
        waiting = [case for case in known["cases"] if re.search(args.again, case)]
    else:
        taken: Counter[str] = Counter()
        waiting = []
        for case in known["order"]:
            file = case.partition("::")[0]
            taken[file] += 1
            is_wanted = taken[file] <= args.rounds and re.search(args.match, f"{files[file]} {file}")
            if is_wanted and case not in known["cases"]:
                waiting.append(case)
    while waiting and time.time() < until:
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        run_cases(args, batch, known, until)
        args.json.write_text(json.dumps(known, indent=1))
        waiting = [case for case in batch if case not in known["cases"]] + waiting
        print(f"{len(known['cases'])} cases known, {len(waiting)} to go", file=sys.stderr, flush=True)
    return table(files, known)


def table(files: dict[str, str], known: dict[str, dict[str, dict[str, str]]]) -> int:
    """Prints the outcomes by area, and the failures; 1 if there is one."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for case, one in known["cases"].items():
        for area in (files[case.partition("::")[0]], "all"):
            counts[area][one["outcome"]] += 1
    print("| area | files | cases run | passed | failed | skipped, xfail | not ended | passed, of those that ended |")
    print("|---|---|---|---|---|---|---|---|")
    for area in [*AREAS, "all"]:
        one = counts[area]
        ran = {case.partition("::")[0] for case in known["cases"]}
        in_area = sum(area in (files[file], "all") for file in ran)
        failed = one["failed"] + one["error"]
        judged = one["passed"] + failed
        share = f"{100 * one['passed'] / judged:.1f} %" if judged else "-"
        skipped = one["skipped"] + one["xfail"]
        ended = judged + skipped
        cells = [area, in_area, ended + one["not ended"], one["passed"], failed, skipped, one["not ended"], share]
        print("| " + " | ".join(map(str, cells)) + " |")
    for case, one in known["cases"].items():
        if one["outcome"] in ("failed", "error", "not ended"):
            print(f"\n{case}: {one['outcome']}\n    {one['reason'][:600]} {one.get('said', '')}", file=sys.stderr)
    return 1 if counts["all"]["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
