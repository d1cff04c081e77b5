#!/usr/bin/env python3
"""`kpt scan` beside TorchFix and tb-migrate: files per second and peak memory on the same tree, in the same run.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install torchfix
    git clone https://github.com/CloudlyIO/torchbridge /tmp/torchbridge
    python benchmarks/scan_peers.py PATH --torchfix /tmp/peers/bin/torchfix --tb-migrate /tmp/torchbridge

A peer that is not given is reported as not run. The tree is copied once: only its Python files, which all three read,
so that the counts are the same; `--all-files` gives `kpt scan` and the peers the whole tree. Runs are interleaved.
Each tool does its own work: TorchFix looks for deprecated torch calls, tb-migrate for seven regular expressions; the
figures compare the cost of a scan, not what is found. Peak memory is that of the largest process of the tool; kpt and
TorchFix start one process per job.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# tb-migrate's module alone: its package imports torch and 180 modules more before it scans, which is not the scan.
_TB_MIGRATE = "import runpy, sys; sys.argv[0] = 'tb-migrate'; runpy.run_path({module!r}, run_name='__main__')"


@dataclass(frozen=True)
class Run:
    """One run of one tool."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def main() -> int:
    """Runs the comparison and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="the tree to scan")
    parser.add_argument("--torchfix", type=Path, help="TorchFix's command (default: torchfix on PATH)")
    parser.add_argument("--tb-migrate", type=Path, metavar="DIR", help="a checkout of torchbridge")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of kpt and TorchFix")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--all-files", action="store_true", help="do not leave out what is not Python")
    args = parser.parse_args()
    if not args.path.is_dir():
        parser.error(f"{args.path}: no such folder")
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work) / args.path.resolve().name
        count = _copy(args.path, tree, args.all_files)
        commands = _commands(args, tree)
        done: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(args.runs):
            for name, command in commands.items():
                done[name].append(_measure(command))
    _print(done, count, args)
    return 0


def _copy(source: Path, tree: Path, everything: bool) -> int:
    """The files to scan, outside of git, so that no ignore file makes a difference; how many are Python."""
    count = 0
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        if not path.is_file() or path.is_symlink() or any(part.startswith(".") for part in place.parts):
            continue
        if everything or path.suffix == ".py":
            (tree / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, tree / place)
            count += path.suffix == ".py"
    if not count:
        raise SystemExit(f"{source}: no Python files")
    return count


def _commands(args: argparse.Namespace, tree: Path) -> dict[str, list[str]]:
    jobs = str(args.jobs)
    commands = {"kpt scan": [sys.executable, "-m", "kernel_pytorch", "scan", str(tree), "--json", "-j", jobs]}
    torchfix = str(args.torchfix) if args.torchfix else shutil.which("torchfix")
    if torchfix:
        commands["torchfix"] = [torchfix, str(tree), "--select", "ALL", "-j", jobs]
    else:
        print("torchfix: not run (not on PATH; pip install torchfix, --torchfix)", file=sys.stderr)
    if args.tb_migrate:
        module = args.tb_migrate / "src" / "torchbridge" / "cli" / "migrate.py"
        if not module.is_file():
            raise SystemExit(f"{module}: no such file; --tb-migrate wants a checkout of torchbridge")
        code = _TB_MIGRATE.format(module=str(module))
        commands["tb-migrate"] = [sys.executable, "-c", code, str(tree), "--format", "json"]
    else:
        print("tb-migrate: not run (--tb-migrate DIR of a torchbridge checkout)", file=sys.stderr)
    return commands


def _measure(command: list[str]) -> Run:
    """Waits in a child of its own, so that the peak is this command's and not that of an earlier one."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False)
        seconds = time.perf_counter() - start
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        # 0 clean, 1 findings; anything else is a tool that did not do the work
        code = done.returncode if done.returncode in (0, 1) and b"Traceback" not in done.stderr else 3
        figures = (code, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        os.write(writing, " ".join(map(str, figures)).encode())
        if code == 3:
            os.write(2, done.stderr[-2000:])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read().split()
    os.waitpid(pid, 0)
    if answer[0] == "3":
        raise SystemExit(f"failed: {' '.join(command)}")
    return Run(*map(float, answer[1:4]))


def _print(done: dict[str, list[Run]], count: int, args: argparse.Namespace) -> None:
    print(f"{args.path.resolve().name}: {count} Python files, {args.jobs} jobs, median of {args.runs} interleaved runs")
    print(
        f"{'':<12}{'wall s':>9}{'files/s':>9}{'CPU s':>8}{'peak MB':>9}{'ratio of wall':>15}{'of CPU':>8}{'of peak':>9}"
    )
    ours = done["kpt scan"]
    for name, runs in done.items():
        wall, cpu, peak = (_median(runs, field) for field in ("seconds", "cpu_seconds", "peak_mb"))
        ratios = [
            value / _median(ours, field)
            for value, field in ((wall, "seconds"), (cpu, "cpu_seconds"), (peak, "peak_mb"))
        ]
        print(
            f"{name:<12}{wall:9.2f}{count / wall:9.0f}{cpu:8.2f}{peak:9.0f}"
            f"{ratios[0]:15.2f}{ratios[1]:8.2f}{ratios[2]:9.2f}"
        )
    print("ratios are to kpt scan: above 1, the tool takes more than kpt")


def _median(runs: list[Run], field: str) -> float:
    return statistics.median(float(getattr(run, field)) for run in runs)


if __name__ == "__main__":
    sys.exit(main())
