"""Check a port. So far: `--isolation`, the proof that the NVIDIA path did not change.

kpt verify PATH --isolation --base REV     the work tree at PATH against a git revision
kpt verify PATH --isolation --base A --head B     two revisions, for instance of a pull request
kpt verify NEW --isolation --old OLD       two folders

`--nvcc` also compares what nvcc makes of every .cu file that changed, where there is an nvcc: preprocessed source and
PTX. Without one, and for files it cannot take, the comparison is reported as not run; the exit status is then that of
the rest.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Status, to_plain

if TYPE_CHECKING:
    from kernel_pytorch.verify.isolation.trees import Tree

SUMMARY = "check a port: the NVIDIA path is unchanged (--isolation)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, help="the ported project")
    parser.add_argument("--isolation", action="store_true", help="prove that the NVIDIA path is unchanged")
    parser.add_argument("--base", metavar="REV", help="the revision before the port (default: HEAD)")
    parser.add_argument("--head", metavar="REV", help="the revision after it (default: the work tree)")
    parser.add_argument("--old", type=Path, metavar="DIR", help="compare with a folder instead of a revision")
    parser.add_argument("--nvcc", action="store_true", help="with nvcc, also compare preprocessed source and PTX")
    parser.add_argument(
        "--nvcc-flags", default="", metavar="FLAGS", help='for nvcc: --nvcc-flags="-std=c++17 -arch=sm_90"'
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout")
    parser.add_argument("-v", "--verbose", action="store_true", help="also list the files that are proven")


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.verify.isolation import Verdict, compare_trees
    from kernel_pytorch.verify.isolation.trees import FolderTree, GitTree

    if not args.isolation:
        raise UsageError("nothing to check: `--isolation` is the level this version has")
    if args.nvcc_flags and not args.nvcc:
        raise UsageError("--nvcc-flags only makes sense with --nvcc")
    if args.old is not None and (args.base or args.head):
        raise UsageError("--old compares folders, --base and --head revisions: give one or the other")
    if not args.path.is_dir():
        raise UsageError(f"{args.path}: no such folder")
    old: Tree = FolderTree(args.old) if args.old is not None else GitTree(args.path, args.base or "HEAD")
    new: Tree = GitTree(args.path, args.head) if args.head else FolderTree(args.path)
    report = compare_trees(old, new)
    checks = _with_nvcc(old, new, args.nvcc_flags) if args.nvcc else []
    if args.json:
        document = {"schema": 1, "verdict": report.verdict.value, **to_plain(report)}
        print(json.dumps({**document, "nvcc": to_plain(checks)} if args.nvcc else document, indent=2))
    else:
        shown = [item for item in report.files if args.verbose or item.verdict in (Verdict.NOT_PROVEN, Verdict.CHANGED)]
        for item in shown:
            print(item)
    counts = ", ".join(f"{len(report.of(verdict))} {verdict.value}" for verdict in Verdict if report.of(verdict))
    print(
        f"isolation: {old.name} -> {new.name}: {report.identical} identical{', ' + counts if counts else ''}",
        file=sys.stderr,
    )
    for check in checks:
        if args.verbose or check.status is not Status.PASS:
            print(f"{check.check}: {check.status.value.replace('_', ' ')}: {check.detail}", file=sys.stderr)
    if checks:
        said = Counter(check.status.value.replace("_", " ") for check in checks)
        print(f"nvcc: {', '.join(f'{number} {status}' for status, number in sorted(said.items()))}", file=sys.stderr)
    return 0 if report.proven and not any(check.status is Status.FAIL for check in checks) else 1


def _with_nvcc(old: Tree, new: Tree, flags: str) -> list[CheckResult]:
    from kernel_pytorch.verify.nvcc import compare_with_nvcc

    try:
        words = shlex.split(flags)
    except ValueError as error:
        raise UsageError(f"--nvcc-flags {flags!r}: {error}") from error
    return compare_with_nvcc(old, new, flags=words)
