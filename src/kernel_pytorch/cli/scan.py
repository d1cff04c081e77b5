"""What a port to ROCm has to deal with: findings with their places, the phases to run, the effort.

    kpt scan PATH                     findings on stdout, phases and effort on stderr; exit 1 if there are any
    kpt scan PATH --select KP3,KP601  only these codes
    kpt scan PATH --html scan.html    also a page to read
    kpt scan PATH -v                  the phases with their reasons, however few findings there are

Nothing is changed. Every finding has a code (`kpt explain CODE`), a place, and says who acts: automatic (`kpt port`
rewrites it), review (`kpt port --unsafe` does), or a person. Defaults come from `[tool.kernel_pytorch]` in the
project's pyproject.toml; options given here win. Copies of NVIDIA's helper headers (helper_cuda.h) take one line each;
--json lists everything.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernel_pytorch.jobs.scan import ScanResult

SUMMARY = "what a port has to deal with: findings, phases, effort"
READS = "kpt reads Python, CUDA, C++, build and deploy files; name another file or folder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="a project folder, or one file")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything as JSON on stdout")
    form.add_argument("--sarif", action="store_true", help="the findings as SARIF 2.1.0 on stdout, for code scanning")
    form.add_argument("--gcc", action="store_true", help="the findings as gcc prints messages, for editors and CI")
    parser.add_argument("-v", "--verbose", action="store_true", help="always show the phases with their reasons")
    add_selection(parser)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The options that `kpt port` shares."""
    parser.add_argument("--select", metavar="CODES", help="only these codes: KP302,KP6 (KP6 is all of KP6xx)")
    parser.add_argument("--ignore", metavar="CODES", help="not these codes")
    parser.add_argument("--exclude", metavar="GLOBS", help="not these files: tests,old/**/*.py")
    parser.add_argument(
        "--rules", type=Path, action="append", metavar="FILE", help="rules of your own in YAML (repeatable)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML page")
    parser.add_argument("--wave", default="logical32", choices=("logical32", "native"), help=argparse.SUPPRESS)
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="processes (default: all cores)")


def selection_of(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line says in the place of the project's table, as `scan` and `port` take it."""
    from kernel_pytorch.port.settings import checked_codes

    chosen: dict[str, Any] = {"rules": args.rules, "exclude": words(args.exclude)}
    for name in ("select", "ignore"):
        codes = words(getattr(args, name))
        chosen[name] = None if codes is None else checked_codes(codes, f"--{name}")
    return chosen


def words(text: str | None) -> tuple[str, ...] | None:
    """The parts of a comma-separated value; None where the option was not given."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.jobs.scan import scan

    result = scan(args.path, wave=args.wave, workers=args.jobs, **selection_of(args))
    if args.html is not None:
        from kernel_pytorch.report.html import write_html
        from kernel_pytorch.report.port_report import scan_report

        write_html(scan_report(result), args.html)
    if args.sarif:
        from kernel_pytorch.core.pages import all_pages
        from kernel_pytorch.report.problem_lines import seen_from_here
        from kernel_pytorch.report.sarif import to_sarif
        from kernel_pytorch.version import VERSION

        pages = {**all_pages(), **{page.code: page for page in result.own_pages}}
        print(to_sarif(list(seen_from_here(result.findings, args.path)), pages, VERSION))
    elif args.gcc:
        from kernel_pytorch.report.problem_lines import problem_line, seen_from_here

        for finding in seen_from_here(result.findings, args.path):
            print(problem_line(finding))
    elif args.json:
        print(json.dumps(_document(result), indent=2))
    else:
        from kernel_pytorch.report.finding_lines import finding_lines

        for line in finding_lines(result.findings):
            print(line)
        _summary(result, args.verbose)
    return 0 if result.ok else 1


def _document(result: ScanResult) -> dict[str, object]:
    from kernel_pytorch.core.findings import finding_json, to_plain
    from kernel_pytorch.jobs.scan import unfit_dependencies

    return {
        "schema": 1,
        "root": result.root,
        "files": result.files,
        "skipped": to_plain(result.skipped),
        "phases": to_plain(result.phases),
        "effort": to_plain(result.effort),
        "findings": [finding_json(finding) for finding in result.findings],
        "dependencies": unfit_dependencies(result.root),
    }


def _summary(result: ScanResult, verbose: bool) -> None:
    from kernel_pytorch.core.counted import counted
    from kernel_pytorch.core.printable import on_one_line
    from kernel_pytorch.jobs.scan import unfit_dependencies
    from kernel_pytorch.report.finding_lines import FEW, numbers_of_codes

    out = sys.stderr
    skipped = [item.path for item in result.skipped]
    cost = result.effort
    seen = counted(sum(result.files.values()), "file")
    print(f"\n{result.root}: {seen} looked at, {counted(len(result.findings), 'finding')}", file=out)
    if skipped:
        print(on_one_line(f"left alone: {', '.join(skipped[:8])}{' ...' if len(skipped) > 8 else ''}"), file=out)
    if not any(result.files.values()) and not result.findings:
        print(f"nothing here to look at: {READS}", file=out)
        return
    if verbose or len(result.findings) > FEW:
        for phase in result.phases:
            applies = "yes" if phase.applies else "no"
            print(f"  phase {phase.number} {phase.title:<26}{applies:<5}{phase.reason}", file=out)
        for code, number in numbers_of_codes(result.findings):
            print(f"  {code} {number:5d}", file=out)
    else:
        needed = ", ".join(f"{phase.number} {phase.title}" for phase in result.phases if phase.applies)
        print(f"phases: {needed} (-v says why)", file=out)
    hours = f" ({cost.time}, an estimate by class)" if cost.time else ""
    print(f"automatic {cost.automatic}, to review {cost.review}, for a person {cost.person}{hours}", file=out)
    names = unfit_dependencies(result.root)
    if names:
        shown = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        print(
            f"dependencies: do not install {shown} as they are; `kpt deps {result.root}` says what to install instead",
            file=out,
        )
