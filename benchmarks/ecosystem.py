#!/usr/bin/env python3
"""Ports public repositories and tries what a user would try next: does it install, does it build, what is left?

    python benchmarks/ecosystem.py CHECKOUTS --fetch                 clone what is missing, at the listed revisions
    python benchmarks/ecosystem.py CHECKOUTS --out after.json        port, install and build every repository
    python benchmarks/ecosystem.py CHECKOUTS --only mamba,apex --units 0
    python benchmarks/ecosystem.py --table after.json --docs docs/ecosystem.md
    python benchmarks/ecosystem.py --table after.json --against before.json

`ecosystem.json` lists the repositories. Those marked "unread" were not looked at while the rules were written; they are
summed up apart. For each repository, in order:

- the port, proven, in a copy, with its trial of the install and with repairs, for which it has `--build-limit` seconds;
- a second port of that copy, which must change nothing;
- the install under a stood-in CUDA and ROCm;
- the build of `--units` of its CUDA sources, taken at equal distances from the sorted list (0: all of them), for every
  `--arch` and for the host.

CHECKOUTS/NAME is only read. This runs setup.py files of strangers: use a machine that may see them.

A unit that fails counts as NVIDIA's own where a finding at its place says that AMD has no counterpart for what it uses
(tensor-core instructions, CUTLASS, TensorRT ...); such units are listed apart, with the code as the reason.

A unit that fails counts as silent if nothing says so at its place: no finding in its file, and no word of the compiler
on a line of the project. Results are written after every repository; a second run takes up what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernel_pytorch.port.cxx.fragments import fragments

LIST = Path(__file__).with_name("ecosystem.json")
NVIDIA_ONLY = {
    "KP230": "PTX without a translation",
    "KP231": "tensor-core instructions",
    "KP232": "asynchronous copies, matrix loads",
    "KP233": "CUTLASS or CuTe",
    "KP279": "a kit that ROCm has not",
}
CXX = frozenset({".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc"})
BUILT = re.compile(r"^(?P<source>.+) for (?P<target>gfx\w+|the host)$")


@dataclass(frozen=True)
class Listed:
    """One repository of the list."""

    repository: str
    revision: str
    unread: bool = False

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]


@dataclass
class Cost:
    """What the commands took: wall clock, processor, and the largest process."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: int = 0


@dataclass
class Result:
    """What one repository came to."""

    repository: str
    unread: bool
    loop: bool = True  # the port tried the install and repaired what the compiler objected to
    error: str = ""  # the verb that did not end as it should, and its last words
    files_changed: int = 0
    proven: bool = False
    second_port_changes: int = -1
    left: dict[str, int] = field(default_factory=dict)  # findings a person has to look at, by code
    installs: dict[str, int] = field(default_factory=dict)  # build descriptions by status
    install_words: list[str] = field(default_factory=list)
    units: dict[str, dict[str, int]] = field(default_factory=dict)  # by target, then by status
    unit_words: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    cost: Cost = field(default_factory=Cost)


def main() -> int:
    """Fetch, run or print."""
    args = _arguments()
    listed = [Listed(**row) for row in json.loads(LIST.read_text())]
    if args.table is not None:
        return _print_table(args, listed)
    if args.checkouts is None:
        raise SystemExit("name the folder of checkouts, or --table FILE")
    wanted = [one for one in listed if not args.only or one.name in args.only.split(",")]
    if args.unread:
        wanted = [one for one in wanted if one.unread]
    if args.fetch:
        return _fetch(args.checkouts, wanted)
    done: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for one in wanted:
        folder = args.checkouts / one.name
        if one.repository in done or not folder.is_dir():
            continue
        with tempfile.TemporaryDirectory(prefix="kpt-ecosystem-") as scratch:
            result = _try(one, folder, Path(scratch) / one.name, args)
        done[one.repository] = asdict(result)
        args.out.write_text(json.dumps(done, indent=1))
        print(_line(result), flush=True)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="?", help="the folder that has (or gets) the checkouts")
    parser.add_argument("--fetch", action="store_true", help="clone what is missing, and do no more")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--unread", action="store_true", help="only the repositories marked unread")
    parser.add_argument("--units", type=int, default=6, help="CUDA sources to build of each repository; 0: all")
    parser.add_argument("--arch", default="gfx942,gfx1100")
    parser.add_argument("--seconds", type=int, default=1800, help="limit for one command")
    parser.add_argument(
        "--build-limit", type=int, default=300, help="seconds for the builds and repairs of one port; 0: none of them"
    )
    parser.add_argument("--out", type=Path, default=Path("ecosystem-results.json"))
    parser.add_argument("--table", type=Path, help="print the table of these results")
    parser.add_argument("--against", type=Path, help="with --table: print what differs from these results")
    parser.add_argument("--docs", type=Path, help="with --table: write the table into this page, between its marks")
    return parser.parse_args()


def _fetch(checkouts: Path, wanted: list[Listed]) -> int:
    for one in wanted:
        folder = checkouts / one.name
        if folder.is_dir():
            continue
        url = f"https://github.com/{one.repository}"
        for words in (
            ["git", "init", "-q", str(folder)],
            ["git", "-C", str(folder), "fetch", "-q", "--depth", "1", url, one.revision],
            ["git", "-C", str(folder), "checkout", "-q", "FETCH_HEAD"],
            ["git", "-C", str(folder), "submodule", "-q", "update", "--init", "--recursive", "--depth", "1"],
        ):
            if subprocess.run(words, check=False).returncode:
                print(f"{one.repository}: {' '.join(words)} failed", file=sys.stderr)
                break
    return 0


def _try(one: Listed, folder: Path, ported: Path, args: argparse.Namespace) -> Result:
    result = Result(one.repository, one.unread)
    target = args.arch.partition(",")[0]
    builds = ("--build-limit", str(args.build_limit)) if args.build_limit else ("--no-build",)
    result.loop = bool(args.build_limit)
    first = _kpt(result, args.seconds, "port", str(folder), "--out", str(ported), "--json", "--arch", target, *builds)
    if first is None or not ported.is_dir():
        result.error = result.error or "port: wrote nothing"
        return result
    result.files_changed, result.proven = len(first["written"]), not first["refused"]
    result.left = dict(Counter(finding["code"] for finding in first["left"]))
    again = _kpt(result, args.seconds, "port", str(ported), "--no-build", "--json")
    if again is not None:
        result.second_port_changes = len(again["patches"])
    files = sorted(path.relative_to(ported).as_posix() for path in ported.rglob("*") if path.suffix in CXX)
    parts = fragments(ported, files)
    units = _sample([path for path in files if path.endswith(".cu") and path not in parts], args.units)
    only = ("--only", ",".join(units)) if units else ()
    levels = "install,build" if units else "install"
    seen = _kpt(result, args.seconds, "verify", str(ported), "--level", levels, "--arch", args.arch, "--json", *only)
    if seen is not None:
        _judge(result, seen, _codes_by_path((*first["left"], *seen["findings"])), ported)
    return result


def _codes_by_path(findings: tuple[dict[str, Any], ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for finding in findings:
        found.setdefault(finding["path"], set()).add(finding["code"])
    return found


def _sample(paths: list[str], count: int) -> list[str]:
    if not count or len(paths) <= count:
        return paths
    return [paths[index * len(paths) // count] for index in range(count)]


def _kpt(result: Result, seconds: int, *words: str) -> Any:
    """The report of one command, or nothing where it has none; what it cost goes to the result."""
    command = [sys.executable, "-m", "kernel_pytorch", *words]  # Google's kpt may be the one on PATH
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            ["timeout", str(seconds), *command], stdout=out, stderr=err, cwd=tempfile.gettempdir()
        )
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, complaint = out.read(), err.read()
    result.cost.wall_s += time.monotonic() - began
    result.cost.cpu_s += usage.ru_utime + usage.ru_stime
    result.cost.peak_mb = max(result.cost.peak_mb, usage.ru_maxrss // 1024)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        last = complaint.strip().splitlines()[-1:] or ["no words"]
        result.error = f"{words[0]}: exit {code}: {last[0]}"
        return None


def _judge(result: Result, seen: dict[str, Any], codes: dict[str, set[str]], ported: Path) -> None:
    for level in seen["levels"]:
        if level["level"] == "install":
            # One description may have several findings: it installs only if it has none.
            order = ("pass", "warn", "not_run", "fail")
            worst: dict[str, str] = {}
            for check in level["checks"]:
                worst[check["check"]] = max(worst.get(check["check"], "pass"), check["status"], key=order.index)
            result.installs = dict(Counter(worst.values()))
            result.install_words = [f"{one['check']}: {one['detail']}" for one in level["checks"]]
        elif level["level"] == "build":
            _judge_units(result, level["checks"], codes, ported)


def _judge_units(result: Result, checks: list[dict[str, Any]], codes: dict[str, set[str]], ported: Path) -> None:
    for check in checks:
        unit = BUILT.match(check["check"])
        if unit is None:
            continue
        words = re.match(r"(\S+?):\d+", check["detail"])
        where = words[1] if words is not None and (ported / words[1]).exists() else ""
        named = {code for path in (unit["source"], where) for code in codes.get(path, ())}
        reasons = sorted(NVIDIA_ONLY.keys() & (named | set(re.findall(r"KP\d{3}", check["detail"]))))
        status = "nvidia" if check["status"] == "fail" and reasons else check["status"]
        by_status = result.units.setdefault(unit["target"], {})
        by_status[status] = by_status.get(status, 0) + 1
        if status == "pass":
            continue
        why = f" ({', '.join(f'{code} {NVIDIA_ONLY[code]}' for code in reasons)})" if status == "nvidia" else ""
        result.unit_words.append(f"{status}{why}: {check['check']}: {check['detail']}")
        if status == "fail" and not where and not named:
            result.silent.append(check["check"])


def _line(result: Result) -> str:
    built = " ".join(f"{target} {_share(by_status)}" for target, by_status in result.units.items())
    installs = _share(result.installs) if result.installs else "-"
    end = f" ERROR {result.error}" if result.error else ""
    return f"{result.repository}: install {installs}; {built}; {result.cost.wall_s:.0f} s{end}"


def _share(by_status: dict[str, int]) -> str:
    apart = {"not_run": "not run", "nvidia": "NVIDIA's own"}
    tried = sum(count for status, count in by_status.items() if status not in apart)
    rest = ", ".join(f"{by_status[status]} {words}" for status, words in apart.items() if by_status.get(status))
    return f"{by_status.get('pass', 0)}/{tried}" + (f" (+ {rest})" if rest else "")


def _print_table(args: argparse.Namespace, listed: list[Listed]) -> int:
    results = _read(args.table)
    if args.against is not None:
        return _print_difference(_read(args.against), results)
    text = "\n".join(_table([results[one.repository] for one in listed if one.repository in results]))
    if args.docs is None:
        print(text)
        return 0
    begin, end = "<!-- table -->\n", "<!-- end of table -->"
    page = args.docs.read_text()
    before, after = page.index(begin) + len(begin), page.index(end)
    args.docs.write_text(f"{page[:before]}{text}\n{page[after:]}")
    return 0


def _read(path: Path) -> dict[str, Result]:
    rows = json.loads(path.read_text())
    return {name: Result(**{**row, "cost": Cost(**row["cost"])}) for name, row in rows.items()}


def _table(results: list[Result]) -> list[str]:
    targets = sorted({target for one in results for target in one.units}, key=lambda name: (name == "the host", name))
    head = ["repository", "files changed", "proven", "second port", "installs", *targets, "left", "CPU s", "MB"]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for one in sorted(results, key=lambda one: (one.unread, one.repository.lower())):
        marks = ["unread"] * one.unread + ["without repairs"] * (not one.loop)
        cells = [one.repository + (f" ({', '.join(marks)})" if marks else ""), str(one.files_changed)]
        cells += ["yes" if one.proven else "no", "same" if one.second_port_changes == 0 else "differs"]
        cells += [_share(one.installs) if one.installs else "-"]
        cells += [_share(one.units[target]) if target in one.units else "-" for target in targets]
        cells += [str(sum(one.left.values())), f"{one.cost.cpu_s:.0f}", str(one.cost.peak_mb)]
        rows.append(f"| {' | '.join(cells)} |")
    read, unread = [one for one in results if not one.unread], [one for one in results if one.unread]
    return [*rows, "", *_sums("read", read, targets), *_sums("unread", unread, targets)]


def _sums(name: str, results: list[Result], targets: list[str]) -> list[str]:
    if not results:
        return []
    total: Counter[str] = Counter()
    for one in results:
        total.update(one.installs)
    parts = [f"installs {_share(total)}"]
    for target in targets:
        built: Counter[str] = Counter()
        for one in results:
            built.update(one.units.get(target, {}))
        parts.append(f"{target} {_share(built)}")
    silent = sum(len(one.silent) for one in results)
    proven = sum(one.proven for one in results)
    same = sum(one.second_port_changes == 0 for one in results)
    parts.append(f"proven {proven}, second port changes nothing {same}, silent failures {silent}")
    return [f"- {len(results)} {name} repositories: {'; '.join(parts)}."]


def _print_difference(before: dict[str, Result], after: dict[str, Result]) -> int:
    for name in sorted(before.keys() & after.keys(), key=str.lower):
        old, new = before[name], after[name]
        found = [
            f"{what} {_short(was)} -> {_short(now)}"
            for what, was, now in (
                ("installs", old.installs, new.installs),
                ("units", old.units, new.units),
                ("left", old.left, new.left),
                ("second port", old.second_port_changes, new.second_port_changes),
                ("proven", old.proven, new.proven),
                ("error", old.error, new.error),
            )
            if was != now
        ]
        if found:
            print(f"{name}: {'; '.join(found)}")
    return 0


def _short(value: object) -> str:
    return json.dumps(value).replace('"', "")


if __name__ == "__main__":
    sys.exit(main())
