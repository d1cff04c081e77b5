"""Check a port, level by level: isolation, static, install, build, run, numerical. Not run is never passed.

    kpt verify PATH                              everything that can run, against git HEAD
    kpt verify PATH --base main --require build  exit 1 unless isolation, static and build pass (for CI)
    kpt verify NEW --old OLD --html report.html  two folders, and a page to read
    kpt verify PATH --isolation --base A --head B     only the proof that the NVIDIA path did not change
    kpt verify PATH --level static,build --arch gfx942,gfx1100
    kpt verify PATH --no-run --base main         a stranger's pull request: nothing of the project runs

Code of the project runs in four places: `install` runs its setup.py on a copy, `run` and `numerical` start its programs
and entry points, `build` imports the modules that launch Triton kernels. `--no-run` leaves out all four and says so;
isolation, static and the build of CUDA and HIP sources never run it.

Programs to emulate, entry points to run on the CPU with ROCm stood in for, and golden records are named in
`[tool.kernel_pytorch.verify]` of the project's pyproject.toml. `--nvcc` also compares what nvcc makes of every .cu file
that changed, where there is an nvcc: preprocessed source and PTX.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Status, finding_json, to_plain
from kernel_pytorch.core.given_path import require_folder
from kernel_pytorch.verify.levels import LEVELS

if TYPE_CHECKING:
    from kernel_pytorch.jobs.verify import Verification

SUMMARY = "check a port: isolation, static, install, build, run, numerical"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt verify`."""
    parser.add_argument("path", type=Path, metavar="PATH", help="the ported project")
    which = parser.add_argument_group("what to check")
    which.add_argument("--level", metavar="LIST", help=f"only these of {', '.join(LEVELS)}")
    which.add_argument("--isolation", action="store_true", help="only the proof that the NVIDIA path is unchanged")
    which.add_argument(
        "--no-run",
        action="store_true",
        help="run no code of the project: no install, run, numerical or Triton kernels",
    )
    which.add_argument("--require", choices=LEVELS, help="exit 1 unless every level up to this one passes")
    which.add_argument("--arch", metavar="LIST", help="targets to build and emulate for (default gfx942,gfx1100)")
    which.add_argument("--only", metavar="GLOBS", help="build only these sources: csrc/ball_*.cu,csrc/knn")
    which.add_argument(
        "-I", dest="include_dirs", action="append", default=[], type=Path, metavar="DIR",
        help="a folder with headers of a library (repeatable)",
    )  # fmt: skip
    before = parser.add_argument_group("what to compare with")
    before.add_argument("--base", metavar="REV", help="the revision before the port (default: HEAD)")
    before.add_argument("--head", metavar="REV", help="the revision after it (default: the work tree)")
    before.add_argument("--old", type=Path, metavar="DIR", help="compare with a folder instead of a revision")
    before.add_argument("--nvcc", action="store_true", help="with nvcc, also compare preprocessed source and PTX")
    before.add_argument(
        "--nvcc-flags", default="", metavar="FLAGS", help='for nvcc: --nvcc-flags="-std=c++17 -arch=sm_90"'
    )
    out = parser.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="the report as JSON on stdout")
    out.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML page")
    out.add_argument("-v", "--verbose", action="store_true", help="also list what passed")


def run(args: argparse.Namespace) -> int:
    """Verify; 1 when a level fails or a required one did not pass."""
    if args.nvcc_flags and not args.nvcc:
        raise UsageError("--nvcc-flags only makes sense with --nvcc")
    if args.old is not None and (args.base or args.head):
        raise UsageError("--old compares folders, --base and --head revisions: give one or the other")
    require_folder(args.path, "name the project's folder")
    if args.isolation:
        return _isolation_only(args)
    if args.head or args.nvcc:
        raise UsageError("--head and --nvcc belong to --isolation: the other levels look at the work tree")
    from kernel_pytorch.core.project_code import project_code_forbidden

    with project_code_forbidden(args.no_run):
        return _pyramid(args)


def _pyramid(args: argparse.Namespace) -> int:
    from kernel_pytorch.jobs.verify import verify
    from kernel_pytorch.port.settings import checked_targets

    targets: Sequence[str] = ()
    if args.arch:
        targets = checked_targets([part.strip() for part in args.arch.split(",")], "--arch")
    done = verify(
        args.path,
        targets=targets,
        levels=_levels(args),
        base=args.base,
        old=args.old,
        only=[part.strip() for part in (args.only or "").split(",") if part.strip()],
        progress=lambda name: _say(f"{name} ..."),
        include_dirs=args.include_dirs,
    )
    if args.html is not None:
        from kernel_pytorch.report.verify_page import write_verify_page

        write_verify_page(done, args.html)
        _say(f"report: {args.html}")
    if args.json:
        levels_plain = [{"status": one.status.value, **to_plain(one)} for one in done.pyramid.levels]
        plain = {**to_plain(done.pyramid), "levels": levels_plain, "findings": list(map(finding_json, done.findings))}
        print(json.dumps({"schema": 2, **plain}, indent=2))
    else:
        _print(done, args.verbose)
    if args.require is not None:
        return 0 if done.pyramid.fulfils(args.require) else 1
    return 1 if done.pyramid.failed else 0


def _levels(args: argparse.Namespace) -> Sequence[str]:
    if args.level is None:
        return LEVELS
    wanted = [part.strip() for part in args.level.split(",") if part.strip()]
    for name in wanted:
        if name not in LEVELS:
            raise UsageError(f"--level {name}: not a level; expected {', '.join(LEVELS)}")
    if args.require is not None:
        raise UsageError("--require needs every level below it: leave --level out")
    return wanted


def _print(done: Verification, verbose: bool) -> None:
    from kernel_pytorch.report.check_groups import check_groups

    for level in done.pyramid.levels:
        print(f"{level.level:<10} {level.status.value.replace('_', ' '):<8} {level.meaning}")
        if level.needs:
            print(f"           to run it: {level.needs}")
        for group in check_groups(level.checks):
            if verbose or group.status is not Status.PASS:
                print(f"           {group.status.value.replace('_', ' ')}: {group.title}: {group.detail}")
    print(done.where_it_ran)


def _isolation_only(args: argparse.Namespace) -> int:
    from kernel_pytorch.jobs.verify import check_isolation
    from kernel_pytorch.verify.isolation import Isolation

    flags = _nvcc_flags(args.nvcc_flags) if args.nvcc else None
    done = check_isolation(args.path, base=args.base, head=args.head, old=args.old, nvcc_flags=flags)
    report = done.report
    if args.json:
        document = {"schema": 1, "verdict": report.verdict.value, **to_plain(report)}
        print(json.dumps({**document, "nvcc": to_plain(done.nvcc)} if args.nvcc else document, indent=2))
    else:
        for item in report.files:
            if args.verbose or not item.is_proven:
                print(item)
    counts = ", ".join(f"{len(report.of(verdict))} {verdict.value}" for verdict in Isolation if report.of(verdict))
    _say(f"isolation: {done.old} -> {done.new}: {report.identical} identical{', ' + counts if counts else ''}")
    for check in done.nvcc:
        if args.verbose or check.status is not Status.PASS:
            _say(f"{check.check}: {check.status.value.replace('_', ' ')}: {check.detail}")
    if done.nvcc:
        seen = Counter(check.status.value.replace("_", " ") for check in done.nvcc)
        _say(f"nvcc: {', '.join(f'{number} {status}' for status, number in sorted(seen.items()))}")
    return 0 if done.ok else 1


def _nvcc_flags(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--nvcc-flags {text!r}: {error}") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
