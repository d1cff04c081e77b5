"""What a port to ROCm has to deal with: findings with their places, the phases to run, the effort.

    kpt scan PATH                     findings on stdout, phases and effort on stderr; exit 1 if there are any
    kpt scan PATH --select KP3,KP601  only these codes
    kpt scan PATH --html scan.html    also a page to read

Nothing is changed. Every finding has a code (`kpt explain CODE`), a place, and a class: automatic (`kpt port` rewrites
it), review (`kpt port --unsafe` does), or a person's decision. Defaults come from `[tool.kernel_pytorch]` in the
project's pyproject.toml; what is said here wins.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_pytorch.core.findings import Finding
    from kernel_pytorch.port.discover import Project
    from kernel_pytorch.port.settings import PortSettings
    from kernel_pytorch.port.user_rules import UserRule

SUMMARY = "what a port has to deal with: findings, phases, effort"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="a project folder, or one file")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything as JSON on stdout")
    form.add_argument("--sarif", action="store_true", help="the findings as SARIF 2.1.0 on stdout, for code scanning")
    form.add_argument("--gcc", action="store_true", help="the findings as gcc prints messages, for editors and CI")
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


def settings_of(args: argparse.Namespace) -> tuple[PortSettings, tuple[UserRule, ...]]:
    """The project's table with what the command line says in its place, and the user's rules it names."""
    from kernel_pytorch.port.settings import checked_codes, read_settings
    from kernel_pytorch.port.user_rules import load_user_rules

    settings = read_settings(args.path)
    said: dict[str, tuple[str, ...]] = {}
    for name in ("select", "ignore"):
        if getattr(args, name) is not None:
            said[name] = checked_codes(_words(getattr(args, name)), f"--{name}")
    if args.exclude is not None:
        said["exclude"] = _words(args.exclude)
    settings = replace(settings, **said)  # type: ignore[arg-type]
    return settings, load_user_rules(args.rules if args.rules is not None else settings.rules)


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.port.discover import discover
    from kernel_pytorch.port.phases import effort, phases
    from kernel_pytorch.port.project import PortOptions, choose_layout, port_project
    from kernel_pytorch.port.settings import without_excluded

    project = discover(args.path)
    settings, rules = settings_of(args)
    project = without_excluded(project, settings.exclude if args.path.is_dir() else ())
    layout = choose_layout(project)
    options = PortOptions(layout, args.wave, False, settings.select, settings.ignore, rules, findings_only=True)
    result = port_project(project, options, args.jobs)
    findings = result.findings
    steps, cost = phases(project, findings), effort(findings)
    if args.html is not None:
        from kernel_pytorch.report.html import write_html
        from kernel_pytorch.report.port_report import PortReport
        from kernel_pytorch.version import VERSION

        write_html(
            PortReport(
                verb="scan",
                project=project_name(args.path),
                version=VERSION,
                files=file_counts(project),
                phases=steps,
                effort=cost,
                findings=findings,
                skipped=project.skipped,
                pages=pages_of(findings, rules),
            ),
            args.html,
        )
    if args.sarif:
        from kernel_pytorch.core.pages import all_pages
        from kernel_pytorch.report.problem_lines import seen_from_here
        from kernel_pytorch.report.sarif import to_sarif
        from kernel_pytorch.version import VERSION

        pages = {**all_pages(), **{rule.code: rule.page() for rule in rules}}
        print(to_sarif(list(seen_from_here(findings, args.path)), pages, VERSION))
    elif args.gcc:
        from kernel_pytorch.report.problem_lines import problem_line, seen_from_here

        for finding in seen_from_here(findings, args.path):
            print(problem_line(finding))
    elif args.json:
        document = {
            "schema": 1,
            "root": str(args.path),
            "files": file_counts(project),
            "skipped": to_plain(project.skipped),
            "phases": to_plain(steps),
            "effort": to_plain(cost),
            "findings": [_plain(finding) for finding in findings],
            "dependencies": dependencies_of(args.path),
        }
        print(json.dumps(document, indent=2))
    else:
        from kernel_pytorch.report.port_report import action

        for finding in findings:
            print(f"{finding} [{action(finding)}]")
        _summary(args, project.count, findings, steps, cost, [item.path for item in project.skipped])
    return 1 if findings else 0


def project_name(path: Path) -> str:
    """What a report calls the project: the folder's own name, also for `.`."""
    return path.resolve().name or str(path)


def file_counts(project: Project) -> dict[str, int]:
    """The number of files by language."""
    return {language: len(paths) for language, paths in project.files.items()}


def pages_of(findings: tuple[Finding, ...], rules: tuple[UserRule, ...]) -> tuple[tuple[str, str], ...]:
    """The page of every code that occurs, the user's own among them."""
    from kernel_pytorch.core.pages import page

    own = {rule.code: rule.page().text() for rule in rules}
    found: list[tuple[str, str]] = []
    for code in sorted({finding.code for finding in findings}):
        ours = page(code)
        if code in own:
            found.append((code, own[code]))
        elif ours is not None:
            found.append((code, ours.text()))
    return tuple(found)


def _plain(finding: Finding) -> dict[str, object]:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.report.port_report import action

    plain = to_plain(finding)
    return {**{key: value for key, value in plain.items() if key != "edits"}, "action": action(finding)}


def _summary(
    args: argparse.Namespace, count: int, findings: tuple[Finding, ...], steps: object, cost: object, skipped: list[str]
) -> None:
    from kernel_pytorch.core.printable import on_one_line
    from kernel_pytorch.port.phases import Effort, Phase

    assert isinstance(steps, tuple) and isinstance(cost, Effort)
    out = sys.stderr
    print(f"\n{args.path}: {count} files looked at, {len(findings)} findings", file=out)
    if skipped:
        print(on_one_line(f"left alone: {', '.join(skipped[:8])}{' ...' if len(skipped) > 8 else ''}"), file=out)
    for phase in steps:
        assert isinstance(phase, Phase)
        print(f"  phase {phase.number} {phase.title:<26}{'yes' if phase.applies else 'no':<5}{phase.reason}", file=out)
    for code, number in sorted(Counter(finding.code for finding in findings).items()):
        print(f"  {code} {number:5d}", file=out)
    print(
        f"automatic {cost.automatic}, to review {cost.review}, for a person {cost.person}"
        f" (roughly {cost.hours_low:g} to {cost.hours_high:g} hours of a person, an estimate by class)",
        file=out,
    )
    names = dependencies_of(args.path)
    if names:
        shown = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        print(
            f"dependencies: not to be installed as they are: {shown}; `kpt deps {args.path}` says what instead",
            file=out,
        )


def dependencies_of(path: Path) -> tuple[str, ...]:
    """The declared packages that a ROCm machine must not take as they are."""
    from kernel_pytorch.port.deps.plan import names_to_settle

    return names_to_settle(path) if path.is_dir() else ()
