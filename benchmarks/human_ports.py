#!/usr/bin/env python3
"""Ports the parent of a person's ROCm commit and compares the two, hunk by hunk.

    python benchmarks/human_ports.py MIRRORS --out compared.json     port what is not in compared.json yet
    python benchmarks/human_ports.py MIRRORS --only mamba --show     also print both sides of every hunk
    python benchmarks/human_ports.py --table compared.json           the counts and the grades

`human_ports.json` lists the commits. MIRRORS/NAME or MIRRORS/OWNER+NAME/repo is a git directory with their history; it
is only read. For each commit the parent is ported without builds; where setup.py is the subject ("install"), its
install is tried and repaired too, which runs that setup.py.

The machine says of every hunk:

- changed: the port edits these lines, or a line next to them;
- finding: the port has a finding within three lines;
- nothing: neither.

It cannot say who is right. "grades" in the list is what a person says after reading both: same, better, worse, missed,
or other (documentation, refactoring, tuning: not what a port is for). Hunks of tests, documentation and workflows are
left out. A file that the mirror lacks is skipped.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.jobs.port import PortResult, plan_port, run_plan
from kernel_pytorch.port.source import C_SUFFIXES, CUDA_SUFFIXES

LIST = Path(__file__).with_name("human_ports.json")
GRADES = ("same", "better", "worse", "missed", "other")
VERDICTS = ("changed", "finding", "nothing")
CODE = {*C_SUFFIXES, *CUDA_SUFFIXES, ".py", ".toml", ".cmake", ".cfg", ".in"}
NOT_CODE = {"tests", "test", "docs", ".github", "benchmarks", "rocm_patch"}
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
NEAR = 3
SHOWN = 60


@dataclass(frozen=True)
class Hunk:
    """What a person changed at one place: `first` and `count` are lines of the parent."""

    path: str
    first: int
    count: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.first}"

    @property
    def last(self) -> int:
        return self.first + max(self.count, 1) - 1


@dataclass(frozen=True)
class Compared:
    """A person's hunk beside what the port did there."""

    hunk: str
    verdict: str
    human: str
    port: str
    codes: tuple[str, ...]


def main() -> int:
    """Compare, or print what was compared."""
    args = _arguments()
    listed = json.loads(LIST.read_text())
    if args.table is not None:
        _print_table(json.loads(args.table.read_text()), listed)
        return 0
    if args.mirrors is None:
        raise SystemExit("name the folder of git mirrors, or --table FILE")
    done: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for row in listed:
        key = f"{row['repository']} {row['commit']}"
        wanted = not args.only or row["repository"].partition("/")[2] in args.only.split(",")
        if not wanted or (key in done and not args.again):
            continue
        try:
            compared = _compare(_mirror(args.mirrors, row["repository"]), row["commit"], row.get("install", False))
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"{key}: left out: {error}", file=sys.stderr)
            continue
        done[key] = [asdict(item) for item in compared]
        args.out.write_text(json.dumps(done, indent=1))
        counts = Counter(item.verdict for item in compared)
        print(f"{key:<56} " + "  ".join(f"{name} {counts[name]:3d}" for name in VERDICTS), flush=True)
        if args.show:
            for item in compared:
                print(f"\n## {item.hunk}  [{item.verdict}]\n{item.human}\n-- the port:\n{item.port or '(nothing)'}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path, nargs="?", help="folder of git mirrors or clones")
    parser.add_argument("--out", type=Path, default=Path("human_ports_compared.json"))
    parser.add_argument("--only", help="names of repositories, separated by commas")
    parser.add_argument("--again", action="store_true", help="port also what --out has already")
    parser.add_argument("--show", action="store_true", help="print both sides of every hunk")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the counts of an earlier --out")
    return parser.parse_args()


def _mirror(mirrors: Path, repository: str) -> Path:
    owner, _, name = repository.partition("/")
    for folder in (mirrors / f"{owner}+{name}" / "repo", mirrors / name / ".git", mirrors / f"{name}.git"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{repository}: no git directory under {mirrors}")


def _git(mirror: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={mirror}", *arguments], capture_output=True, check=True).stdout


def _compare(mirror: Path, commit: str, install: bool) -> list[Compared]:
    diff = _git(mirror, "diff", "-U0", "--inter-hunk-context=2", "--no-renames", f"{commit}^", commit)
    hunks = [hunk for hunk in _hunks(diff.decode(errors="replace")) if _is_code(hunk.path)]
    with tempfile.TemporaryDirectory(prefix="kpt-human-") as scratch:
        tree = Path(scratch) / "parent"
        _check_out(mirror, f"{commit}^", tree)
        result = run_plan(plan_port(tree, build=install, build_limit_s=1))
    patches = {patch.path: patch for patch in result.patches}
    return [_beside(hunk, result, patches.get(hunk.path)) for hunk in hunks]


def _check_out(mirror: Path, revision: str, folder: Path) -> None:
    """The tree of a revision, less what the mirror lacks."""
    folder.mkdir()
    done = subprocess.run(["git", f"--git-dir={mirror}", "archive", revision], capture_output=True, check=False)
    if done.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        return
    for row in _git(mirror, "ls-tree", "-r", revision).decode(errors="replace").splitlines():
        about, _, name = row.partition("\t")
        _, kind, blob = about.split()
        if kind != "blob" or name.startswith('"'):
            continue
        content = subprocess.run(["git", f"--git-dir={mirror}", "cat-file", "blob", blob], capture_output=True)
        if content.returncode == 0:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.stdout)


def _hunks(diff: str) -> Iterator[Hunk]:
    """The hunks of a diff; a new file is one hunk at line 0 with its first lines."""
    for part in re.split(r"^diff --git ", diff, flags=re.M)[1:]:
        named = re.search(r"^\+\+\+ b/(.+?)\t?$", part, re.M)
        if named is None:  # deleted, binary, or only a mode
            continue
        for piece in re.split(r"^(?=@@ -)", part, flags=re.M)[1:]:
            head = HUNK.match(piece)
            assert head is not None
            lines = piece.splitlines()[1:]
            yield Hunk(named[1], int(head[1]), int(head[2] or 1), "\n".join(lines[:SHOWN]))


def _is_code(path: str) -> bool:
    pure = PurePosixPath(path)
    if NOT_CODE & set(pure.parts) or pure.name.startswith("test_"):
        return False
    return pure.suffix in CODE or pure.name in ("CMakeLists.txt", "Makefile")


def _beside(hunk: Hunk, result: PortResult, patch: Patch | None) -> Compared:
    edited = list(_edited(patch, hunk)) if patch is not None else []
    near = [
        finding
        for finding in (*result.findings, *(held.finding for held in result.held))
        if finding.path == hunk.path and hunk.first - NEAR <= finding.line <= hunk.last + NEAR
    ]
    verdict = "changed" if edited else "finding" if near else "nothing"
    said = list(dict.fromkeys(f"{finding.line}: {finding.code} {finding.message}" for finding in near))
    return Compared(
        hunk.name, verdict, hunk.text, "\n".join([*edited, *said]), tuple(sorted({item.code for item in near}))
    )


def _edited(patch: Patch, hunk: Hunk) -> Iterator[str]:
    """The port's own hunks that touch these lines or their neighbours."""
    before = (patch.before or b"").decode(errors="replace").splitlines()
    after = patch.after.decode(errors="replace").splitlines()
    for kind, first, end, new, new_end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal" and first + 1 <= hunk.last + 1 and max(end, first + 1) >= hunk.first - 1:
            yield "\n".join([*(f"-{line}" for line in before[first:end]), *(f"+{line}" for line in after[new:new_end])])


def _print_table(done: dict[str, Any], listed: list[dict[str, Any]]) -> None:
    print("| repository | commit | hunks | " + " | ".join(VERDICTS) + " | " + " | ".join(GRADES) + " |")
    print("|" + "---|" * (3 + len(VERDICTS) + len(GRADES)))
    total: Counter[str] = Counter()
    for row in listed:
        compared = done.get(f"{row['repository']} {row['commit']}")
        if compared is None:
            continue
        counts = Counter(item["verdict"] for item in compared)
        grades = row.get("grades", {})
        counts.update(grades.get(item["hunk"], "ungraded").partition(":")[0] for item in compared)
        counts["hunks"] = len(compared)
        total.update(counts)
        print(_row(row["repository"], row["commit"], counts))
    print(_row("in all", "", total))
    if total["ungraded"]:
        print(f"\n{total['ungraded']} hunks have no grade in {LIST.name}.")


def _row(repository: str, commit: str, counts: Counter[str]) -> str:
    figures = " | ".join(str(counts[name] or "") for name in ("hunks", *VERDICTS, *GRADES))
    return f"| {repository} | {commit} | {figures} |"


if __name__ == "__main__":
    sys.exit(main())
