"""The port of a project to ROCm, as a diff; `--write` applies it, `--out DIR` makes a ported copy.

    kpt port PATH                    the diff; nothing is changed
    kpt port PATH --write            all files or none
    kpt port PATH --out ported       a ported copy
    kpt port PATH --arch gfx942,gfx1100 --html port.html

Every change is inside a gate (`#if defined(USE_ROCM)`, `if IS_ROCM`) or in a new file. Before anything is shown or
written, the isolation check closes the gates and compares with the original. A file that fails is left as it was and
reported. If there is a HIP compiler, the ported sources are built for `--arch`. Known errors are repaired (KP211,
KP214, KP215, KP224 to KP226, KP229, KP280 to KP293) and built again; the others are shown in the compiler's words.
Defaults come from `[tool.kernel_pytorch]` in the project's pyproject.toml; options given here win.

A project that builds an extension is installed on a copy, with a stand-in for a ROCm torch and without network:
conditions that stop the install or drop kernels get a gate. This runs the project's setup.py; `--no-run` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.cli.arguments.outputs import check_in_place
from kernel_pytorch.cli.scan import READS, add_selection, selection_of
from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.jobs.added_files import ADDED

if TYPE_CHECKING:
    from kernel_pytorch.jobs.port import PortResult

GUARD = "compile-guard"  # has an option of its own
_WIDTH = 100
SUMMARY = "the port of a project, as a diff; --write applies it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="the project folder")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--write", action="store_true", help="apply the port to the project")
    where.add_argument(
        "--out", type=Path, metavar="DIR", help="write a ported copy of the project; DIR is new and outside it"
    )
    parser.add_argument(
        "--layout",
        choices=("auto", "copy", "single-source", "torch-extension"),
        help="how C++ is ported (auto: torch-extension if torch builds the project's extension, else single-source)",
    )
    parser.add_argument(
        "--unsafe", action=argparse.BooleanOptionalAction, help="apply edits that need a review as well"
    )
    parser.add_argument("--arch", metavar="LIST", help="targets to build the ported sources for (default gfx942)")
    parser.add_argument("--no-build", action="store_true", help="do not install or build what was ported")
    parser.add_argument(
        "--build-limit",
        type=_seconds,
        default=math.inf,
        metavar="SECONDS",
        help="begin no build later than this; what was repaired by then stays (default: no limit)",
    )
    parser.add_argument(
        "-I",
        dest="include_dirs",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a folder with headers of a library that the sources include (repeatable)",
    )
    parser.add_argument(
        "--no-run", action="store_true", help="run no code of the project: its install is not tried and not repaired"
    )
    parser.add_argument(
        "--compile-guard",
        action="store_true",
        help="add rocm_compile_guard.py, which keeps torch.compile from capturing graphs also inside libraries",
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        choices=sorted(ADDED.keys() - {GUARD}),
        help="add a file to use by hand: fp8 (checkpoints, scaled products), graph-check (a replay against eager)",
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout instead of the diff")
    add_selection(parser)


def run(args: argparse.Namespace) -> int:
    """Port; 1 when something is left, failed or could not be proven."""
    from kernel_pytorch.core.project_code import project_code_forbidden

    with project_code_forbidden(args.no_run):
        return _port(args)


def _port(args: argparse.Namespace) -> int:
    from kernel_pytorch.jobs.port import check_place_of_copy, plan_port, run_plan
    from kernel_pytorch.jobs.port_notes import port_notes
    from kernel_pytorch.jobs.scan import Selection
    from kernel_pytorch.port.apply import recover
    from kernel_pytorch.port.layouts import layout_named
    from kernel_pytorch.port.settings import checked_targets

    if args.write:
        check_in_place(args.path, "--out DIR makes a ported copy elsewhere")
    if args.write and args.path.is_dir() and (recovered := recover(args.path)):
        print(f"{args.path}: {recovered}", file=sys.stderr)
    plan = plan_port(
        args.path,
        Selection(**selection_of(args)),
        layout=args.layout,
        targets=None if args.arch is None else checked_targets(args.arch.split(","), "--arch"),
        unsafe=args.unsafe,
        add=(*args.add, *([GUARD] if args.compile_guard else [])),
        build=not args.no_build,
        wave=args.wave,
        build_limit_s=args.build_limit,
        include_dirs=args.include_dirs,
    )
    if layout_named(plan.layout).writes_twins and args.write:
        raise UsageError(
            "--layout copy makes twins of headers under the same name: write them elsewhere with --out DIR"
        )
    if args.out is not None:
        check_place_of_copy(plan.project.root, args.out)
    result = run_plan(plan, args.jobs, _show_progress)
    _show_progress("")
    if args.html is not None:
        # Before anything is written: a page that cannot be made must not leave a port behind that nobody reported.
        _write_html(args, result)
    if args.write:
        result.write()
    elif args.out is not None:
        result.write_copy(args.out)
    if args.json:
        print(json.dumps(_document(result, written=bool(args.write or args.out)), indent=2))
    elif not (args.write or args.out):
        sys.stdout.write(result.diff())
    _talk(args, result)
    for note in port_notes(result):
        print(note, file=sys.stderr)
    return 0 if result.ok else 1


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return value


def _show_progress(text: str) -> None:
    """What is being built, on one line of a terminal; nothing elsewhere."""
    from kernel_pytorch.core.printable import on_one_line

    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{on_one_line(text)[:_WIDTH]}")
        sys.stderr.flush()


def _document(result: PortResult, written: bool) -> dict[str, object]:
    from kernel_pytorch.core.findings import finding_json, to_plain

    return {
        "schema": 2,
        "layout": result.layout,
        "written": [patch.path for patch in result.patches] if written else [],
        "patches": [
            {"path": patch.path, "new": patch.before is None, "codes": patch.codes} for patch in result.patches
        ],
        "refused": to_plain(result.refused),
        "left": [finding_json(finding) for finding in result.left],
        "held": [{"finding": finding_json(item.finding), "reason": item.reason} for item in result.held],
        "install": {"checks": to_plain(result.install.checks), "needs": result.install.needs},
        "build": to_plain(result.checks),
    }


def _write_html(args: argparse.Namespace, result: PortResult) -> None:
    from kernel_pytorch.report.html import write_html
    from kernel_pytorch.report.port_report import port_report

    written = "" if args.write or args.out else "Nothing was written: this is what --write would do."
    reason = "--no-build was given" if args.no_build else result.not_built
    write_html(port_report(result, (written, f"not built: {reason}" if reason else "")), args.html)


def _talk(args: argparse.Namespace, result: PortResult) -> None:
    from kernel_pytorch.port.layouts import layout_named
    from kernel_pytorch.report.check_groups import check_groups

    out = sys.stderr
    verb = "written" if args.write or args.out else "to write (--write or --out DIR)"
    # In the copy layout the headers of the copy are HIP's: there the original keeps the NVIDIA path, not the copy.
    is_copy = layout_named(result.layout).writes_twins
    proof = "the original is untouched" if is_copy else "NVIDIA path proven unchanged in all of them"
    if result.patches:
        print(f"{args.path}: {counted(len(result.patches), 'file')} {verb}, layout {result.layout}; {proof}", file=out)
    else:
        nothing = "nothing to change" if any(result.files.values()) else f"nothing to port: {READS}"
        print(f"{args.path}: {'nothing could be proven' if result.refused else nothing}", file=out)
    for verdict in result.refused:
        print(f"left as it was, not proven: {verdict}", file=out)
    for group in check_groups(result.install.checks):
        print(f"install, {group.title}: {group.status.value.replace('_', ' ')}: {group.detail}", file=out)
    if result.install.needs:
        print(f"install not tried: {result.install.needs}", file=out)
    counts = Counter(check.status.value for check in result.checks)
    if result.checks:
        print(
            f"built for {', '.join(result.targets)}: {counts['pass']}, failed {counts['fail']}, "
            f"not built {counts['not_run']}",
            file=out,
        )
    for group in check_groups(result.checks):
        if group.status.value != "pass":
            print(f"  {group.title}: {group.detail}", file=out)
    _talk_of_findings(result)
    if result.not_built:
        print(f"not built: {result.not_built}", file=out)


def _talk_of_findings(result: PortResult) -> None:
    from kernel_pytorch.report.finding_lines import few_or_places

    listed = "`kpt port --json` has them all"
    if not result.left and not result.held:
        print("left for a person: nothing", file=sys.stderr)
    if result.left:
        print(f"left for a person: {counted(len(result.left), 'finding')}", file=sys.stderr)
        for line in few_or_places(result.left, listed):
            print(f"  {line}", file=sys.stderr)
    if result.held:
        print(f"held for a review (--unsafe applies them): {counted(len(result.held), 'finding')}", file=sys.stderr)
        for line in few_or_places([item.finding for item in result.held], listed):
            print(f"  {line}", file=sys.stderr)
