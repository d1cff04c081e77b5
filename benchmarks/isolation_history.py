#!/usr/bin/env python3
"""`kpt verify --isolation` over real ROCm commits of a project: what it proves, and what it says of the rest.

    git clone https://github.com/vllm-project/vllm
    python benchmarks/isolation_history.py vllm --commits 30
    python benchmarks/isolation_history.py vllm --commits 3f8a1c2,77d0e91 --json

With a number, that many commits are taken at equal distances from all commits whose subject matches `--subject`
(default: ROCm, AMD or HIP), so that nobody picks the ones that look good. Each is compared with its parent. A file is
proven (the NVIDIA path is the same), not proven (undecided, with the place) or changed (with the place). What a
verdict rests on is for a person to read: `--json` has every file with its reason.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.verify.isolation import FileVerdict, Isolation, compare_trees
from kernel_pytorch.verify.isolation.trees import GitTree


@dataclass(frozen=True)
class Compared:
    """One commit and the verdict on every file it touched."""

    commit: str
    subject: str
    files: tuple[FileVerdict, ...]
    seconds: float

    def count(self, verdict: Isolation) -> int:
        return sum(item.verdict is verdict for item in self.files)


def main() -> int:
    """Compares the commits and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", default="30", help="how many, or a list of revisions separated by commas")
    parser.add_argument("--subject", default=r"\brocm\b|\bamd\b|\bhip\b", help="a regular expression, any case")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    args = parser.parse_args()
    done: list[Compared] = []
    for commit in _chosen(args.repository, args.commits, re.compile(args.subject, re.IGNORECASE)):
        compared = _compare(args.repository, commit)
        if compared is not None:
            done.append(compared)
            if not args.json:
                _print_commit(compared)
    if args.json:
        print(json.dumps([_plain(item) for item in done], indent=2))
    else:
        _print_sum(done)
    return 0


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _chosen(repository: Path, wanted: str, subject: re.Pattern[str]) -> list[str]:
    if not wanted.isdigit() or len(wanted) > 4:
        return wanted.split(",")
    rows = _git(repository, "log", "--no-merges", "--format=%h%x09%s").splitlines()
    found = [row.split("\t")[0] for row in rows if subject.search(row.partition("\t")[2])]
    if not found:
        raise SystemExit(f"{repository}: no commit whose subject matches {subject.pattern!r}")
    step = max(1, len(found) // int(wanted))
    return found[::step][: int(wanted)]


def _compare(repository: Path, commit: str) -> Compared | None:
    subject = _git(repository, "log", "-1", "--format=%s", commit).strip()
    start = time.perf_counter()
    try:
        report = compare_trees(GitTree(repository, f"{commit}^"), GitTree(repository, commit))
    except UsageError as error:
        print(f"{commit}: left out: {error}", file=sys.stderr)
        return None
    return Compared(commit, subject, report.files, time.perf_counter() - start)


def _print_commit(item: Compared) -> None:
    counts = [item.count(verdict) for verdict in (Isolation.PROVEN, Isolation.NOT_PROVEN, Isolation.CHANGED)]
    print(f"{item.commit}  {counts[0]:3d} proven {counts[1]:3d} not proven {counts[2]:3d} changed  {item.subject[:80]}")
    for one in item.files:
        if one.verdict in (Isolation.NOT_PROVEN, Isolation.CHANGED):
            print(f"    {one}")


def _print_sum(done: list[Compared]) -> None:
    kinds: Counter[tuple[str, str]] = Counter()
    for item in done:
        for one in item.files:
            kinds[_kind(one.path), one.verdict.value] += 1
    verdicts = [verdict.value for verdict in (Isolation.PROVEN, Isolation.NOT_PROVEN, Isolation.CHANGED)]
    print(f"\n{'':<12}" + "".join(f"{name:>12}" for name in verdicts))
    for kind in sorted({kind for kind, _ in kinds}):
        print(f"{kind:<12}" + "".join(f"{kinds[kind, name]:12d}" for name in verdicts))
    whole = sum(not item.count(Isolation.NOT_PROVEN) and not item.count(Isolation.CHANGED) for item in done)
    seconds = sum(item.seconds for item in done)
    print(f"{whole} of {len(done)} commits proven as a whole; {seconds:.0f} s")


def _kind(path: str) -> str:
    pure = PurePosixPath(path)
    if {"tests", "test"} & set(pure.parts) or pure.name.startswith("test_"):
        return "tests"
    if pure.suffix in (".py", ".pyi"):
        return "python"
    if pure.suffix in (".cu", ".cuh", ".cpp", ".h", ".hpp", ".cc", ".c"):
        return "c++"
    return "cmake" if pure.name == "CMakeLists.txt" or pure.suffix == ".cmake" else "other"


def _plain(item: Compared) -> dict[str, object]:
    files = [
        {"path": one.path, "verdict": one.verdict.value, "reason": one.reason, "line": one.line, "old": one.old_line}
        for one in item.files
    ]
    return {"commit": item.commit, "subject": item.subject, "files": files}


if __name__ == "__main__":
    sys.exit(main())
