#!/usr/bin/env python3
"""Bytes per second of `kpt hipify` beside torch.utils.hipify and hipify-perl, on one tree in one run.

    python benchmarks/hipify.py TREE [--hipify-perl PATH] [--perl-files 20] [--jobs 2]

The three run one after the other on the same files, start-up included, ours with every rule switched on and on all
cores, as a user would start it. hipify-perl takes a sample: it needs about a second for a file. The single-file figure
is the median of several starts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernel_pytorch.port.hipify.tree import find_sources

TORCH_CALL = """
import sys
from torch.utils.hipify import hipify_python
folder = sys.argv[1]
suffixes = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc")
hipify_python.hipify(project_directory=folder, output_directory=folder, extensions=suffixes, includes=[folder + "/*"],
                     show_detailed=False, is_pytorch_extension=False)
"""


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a command. Exit status 1 (findings) is not a failure."""
    before = os.times()
    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall = time.perf_counter() - started
    after = os.times()
    if done.returncode > 1:
        raise SystemExit(f"{command[0]} failed with {done.returncode}")
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--hipify-perl", type=Path, default=None)
    parser.add_argument("--perl-files", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--starts", type=int, default=7)
    args = parser.parse_args()
    kpt = [sys.executable, "-m", "kernel_pytorch", "hipify"]
    with tempfile.TemporaryDirectory(prefix="kpt-bench-") as scratch:
        work = Path(scratch)
        tree = work / "tree"
        files, _ = find_sources(args.tree)
        for path in files:
            target = tree / path.relative_to(args.tree)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        size = sum(path.stat().st_size for path in files)
        print(f"{len(files)} files, {size / 1e6:.2f} MB, {args.jobs} processes for kpt")
        ours = timed([*kpt, str(tree), "-o", str(work / "out"), "-j", str(args.jobs)])
        show("kpt hipify", size, ours, None)
        torch = timed([sys.executable, "-c", TORCH_CALL, str(tree)])
        show("torch.utils.hipify", size, torch, ours)
        if args.hipify_perl:
            sample = files[:: max(1, len(files) // args.perl_files)][: args.perl_files]
            sampled = sum(path.stat().st_size for path in sample)
            runs = [timed([str(args.hipify_perl), str(path)]) for path in sample]
            show(
                f"hipify-perl ({len(sample)} files)",
                sampled,
                (sum(run[0] for run in runs), sum(run[1] for run in runs)),
                (ours[0] * sampled / size, ours[1] * sampled / size),
            )
        one = max(
            (path for path in files if path.suffix == ".cu" and path.stat().st_size < 10_000),
            key=lambda p: p.stat().st_size,
        )
        starts = [timed([*kpt, str(one)]) for _ in range(args.starts)]
        wall, cpu = (statistics.median(run[index] for run in starts) for index in (0, 1))
        size = one.stat().st_size
        print(
            f"one file of {size} bytes, start-up included: {wall:.3f} s wall, {cpu:.3f} s CPU, median of {args.starts}"
        )
    return 0


def show(name: str, size: int, run: tuple[float, float], ours: tuple[float, float] | None) -> None:
    """One line: rates by wall clock and by CPU time, and the ratio to ours."""
    wall, cpu = run
    ratio = f", kpt is {wall / ours[0]:.2f}x by wall clock, {cpu / ours[1]:.2f}x by CPU" if ours else ""
    rates = f"{size / wall / 1e6:.3f} MB/s wall, {size / cpu / 1e6:.3f} MB/s CPU"
    print(f"{name}: {rates} ({wall:.2f} s, {cpu:.2f} s CPU){ratio}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
