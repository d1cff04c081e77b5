"""Check a port. So far: `--isolation`, the proof that the NVIDIA path did not change.

kpt verify PATH --isolation --base REV     the work tree at PATH against a git revision
kpt verify PATH --isolation --base A --head B     two revisions, for instance of a pull request
kpt verify NEW --isolation --old OLD       two folders
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import to_plain

SUMMARY = "check a port: the NVIDIA path is unchanged (--isolation)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, help="the ported project")
    parser.add_argument("--isolation", action="store_true", help="prove that the NVIDIA path is unchanged")
    parser.add_argument("--base", metavar="REV", help="the revision before the port (default: HEAD)")
    parser.add_argument("--head", metavar="REV", help="the revision after it (default: the work tree)")
    parser.add_argument("--old", type=Path, metavar="DIR", help="compare with a folder instead of a revision")
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout")
    parser.add_argument("-v", "--verbose", action="store_true", help="also list the files that are proven")


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.verify.isolation import Verdict, compare_trees
    from kernel_pytorch.verify.isolation.trees import FolderTree, GitTree, Tree

    if not args.isolation:
        raise UsageError("nothing to check: `--isolation` is the level this version has")
    if args.old is not None and (args.base or args.head):
        raise UsageError("--old compares folders, --base and --head revisions: give one or the other")
    if not args.path.is_dir():
        raise UsageError(f"{args.path}: no such folder")
    old: Tree = FolderTree(args.old) if args.old is not None else GitTree(args.path, args.base or "HEAD")
    new: Tree = GitTree(args.path, args.head) if args.head else FolderTree(args.path)
    report = compare_trees(old, new)
    if args.json:
        print(json.dumps({"schema": 1, "verdict": report.verdict.value, **to_plain(report)}, indent=2))
    else:
        shown = [item for item in report.files if args.verbose or item.verdict in (Verdict.NOT_PROVEN, Verdict.CHANGED)]
        for item in shown:
            print(item)
    counts = ", ".join(f"{len(report.of(verdict))} {verdict.value}" for verdict in Verdict if report.of(verdict))
    print(
        f"isolation: {old.name} -> {new.name}: {report.identical} identical{', ' + counts if counts else ''}",
        file=sys.stderr,
    )
    return 0 if report.proven else 1
