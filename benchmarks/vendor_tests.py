#!/usr/bin/env python3
"""AMD's own tests of hipify, held against `kpt hipify`.

    git clone https://github.com/ROCm/HIPIFY
    python benchmarks/vendor_tests.py HIPIFY/tests/unit_tests [--show]

A test is a CUDA source whose comments tell the HIP text that must come out, in order (FileCheck's `CHECK:` lines). Each
line is one expectation; a test passes when all of them are met. Launches count as equal: hipify-clang writes
hipLaunchKernelGGL, we leave `<<<...>>>`, which HIP takes. A line that differs in names alone, none of them CUDA's,
counts as named otherwise: `make test-vendor` asks whether ROCm's headers declare our names. Tests for translations that
we do not offer (rocBLAS in place of hipBLAS, hipify's own options) are left out and counted. `--show` prints what every
failing line expects, and from which line of CUDA. Nothing of the tests is kept here.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.jobs.hipify import hipify_file
from kernel_pytorch.port.names.table import find_name

CHECK = re.compile(r"//\s*CHECK(-NEXT|-NOT|-SAME|-DAG)?:\s?(.*)")
# Options of hipify-clang that ask for something else than HIP with hipBLAS, hipSPARSE and so on.
OTHER_JOB = re.compile(r"-roc\b|--miopen")
# Where ROCm 5.2 and later have their headers.
MOVED = re.compile(r"(?<=[<\"])(hip(?:blas|blaslt|sparse|solver|rand|fft))\.h")
OF_VENDORS = re.compile(r"\b(?:i?hip|HIP|cu|CU|__nv|nv|NV)\w*")
LAUNCH = re.compile(r"hipLaunchKernel(?:GGL)?\s*\(|<<<")


@dataclass(frozen=True)
class Missed:
    """An expectation that is not met: its line in the test, what it wants and from what; whether a finding says so."""

    line: int
    wanted: str
    source: str
    is_reported: bool

    is_named_otherwise: bool  # only names differ, and all are translated: ROCm 7.2 often has several for a thing


def expectation(text: str) -> re.Pattern[str]:
    """A CHECK line as a pattern: `{{...}}` is an expression, any white space is equal."""
    parts = re.split(r"\{\{(.*?)\}\}", MOVED.sub(r"\1/\1.h", " ".join(text.split())))
    return re.compile("".join(part if number % 2 else re.escape(part) for number, part in enumerate(parts)))


def missed(source: str, translated: str, reported: set[int]) -> tuple[int, list[Missed]]:
    """How many lines are expected, and which of them do not come out in their order. `reported` are the lines of the
    source that a finding stands at."""
    lines = [" ".join(line.split()) for line in translated.splitlines() if not CHECK.search(line)]
    count, place, failed = 0, 0, []
    originals = source.splitlines()
    for number, line in enumerate(originals, 1):
        found = CHECK.search(line)
        if found is None or found[1] == "-NOT" or not found[2].strip():
            continue
        count += 1
        pattern = expectation(found[2])
        at = next((index for index in range(place, len(lines)) if pattern.search(lines[index])), None)
        if at is not None:
            place = at if found[1] == "-SAME" else at + 1
        elif not (LAUNCH.search(found[2]) and any(LAUNCH.search(one) for one in lines[place:])):
            about = _source_line(originals, number)
            shown = " ".join(originals[about - 1].split()) if about <= len(originals) else ""
            is_other = _is_named_otherwise(found[2], shown, lines)
            failed.append(Missed(number, found[2].strip(), shown, about in reported, is_other))
    return count, failed


def _is_named_otherwise(wanted: str, source: str, translated: list[str]) -> bool:
    """Whether a line of the translation differs from what is wanted in names alone, and no name of CUDA's is left."""
    form = _nameless(wanted)
    if form != _nameless(source):
        return False
    return any(_nameless(line) == form and not _is_left(line) for line in translated)


def _nameless(line: str) -> str:
    return OF_VENDORS.sub("#", " ".join(line.split()))


def _is_left(line: str) -> bool:
    rows = (find_name(name.encode()) for name in OF_VENDORS.findall(line))
    return any(row is not None and row.hip and row.hip != row.cuda for row in rows)


def _source_line(lines: list[str], number: int) -> int:
    """The line of the source that the expectation at line `number` is about: of several in a row, the first is about
    the first line of code behind them, the second about the second."""
    before = number - 1
    while before > 0 and _is_note(lines[before - 1]):
        before -= 1
    rank = sum(CHECK.search(line) is not None for line in lines[before : number - 1])
    code = (at for at in range(number, len(lines)) if not _is_note(lines[at]))
    return next(itertools.islice(code, rank, None), number) + 1


def _is_note(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("//")


def main() -> int:
    """Runs every test and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path)
    parser.add_argument("--match", default="", help="only tests whose path matches this regular expression")
    parser.add_argument("--show", action="store_true", help="print every line that is not met")
    args = parser.parse_args()
    outcomes: Counter[str] = Counter()
    met = expected = reported = renamed = 0
    for path in sorted([*args.tests.rglob("*.cu"), *args.tests.rglob("*.cpp")]):
        name = path.relative_to(args.tests).as_posix()
        source = path.read_text(encoding="utf-8", errors="replace")
        if not re.search(args.match, name) or not CHECK.search(source):
            continue
        if OTHER_JOB.search(source.split("\n", 1)[0]) or "/options/" in f"/{name}":
            outcomes["another job"] += 1
            continue
        result = hipify_file(path)
        translated = (result.data if result.data is not None else path.read_bytes()).decode(errors="replace")
        lines = {finding.line for stats in result.files for finding in stats.left}
        count, failed = missed(source, translated, lines)
        expected, met = expected + count, met + count - len(failed)
        silent = [one for one in failed if not one.is_reported and not one.is_named_otherwise]
        status = "passes" if not failed else "fails" if silent else "passes but for other names and findings"
        outcomes[status] += 1
        reported += sum(one.is_reported for one in failed)
        renamed += sum(one.is_named_otherwise and not one.is_reported for one in failed)
        if silent:
            print(f"{name}: {len(silent)} of {count} lines", flush=True)
            for one in silent if args.show else ():
                print(f"  {one.line}: wants {one.wanted}\n       from  {one.source}")
    print(
        ", ".join(f"{status} {count}" for status, count in outcomes.items()),
        f"; lines: {met} of {expected} met, {reported} have a finding, {renamed} another name",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
