#!/usr/bin/env python3
"""`kpt hipify` beside torch.utils.hipify, hipify-perl and the parser alone: time and memory, on one tree in one run.

    python benchmarks/hipify.py TREE [--rounds 3] [--hipify-perl PATH] [--perl-files 20] [--json FILE]

Every round runs each of them once on the same files, start-up included, ours with every rule switched on: with `-j 1`,
and with its default, which is all cores. The figures are medians over the rounds. "parse floor" is a Python that parses
every file with tree-sitter and does nothing else. Memory is that of the largest process. Files that are not UTF-8 are
left out: torch.utils.hipify stops at them. hipify-perl (the one on the path, where there is one) takes a sample, since
it needs about a second for a file. The last figure is one file by itself: the start-up that a user waits for. kpt's
bytecode is made first, as pip makes it: a checkout may have none, and torch's packages have theirs.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import kernel_pytorch
from kernel_pytorch.port.hipify.tree import find_sources

TORCH_CALL = """
import sys
from torch.utils.hipify import hipify_python
folder = sys.argv[1]
suffixes = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc")
hipify_python.hipify(project_directory=folder, output_directory=folder, extensions=suffixes, includes=[folder + "/*"],
                     show_detailed=False, is_pytorch_extension=False)
"""
PARSE_CALL = """
import sys
import tree_sitter, tree_sitter_cuda
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
for path in open(sys.argv[1]).read().splitlines():
    with open(path, "rb") as file:
        parser.parse(file.read())
"""
KPT = (sys.executable, "-m", "kernel_pytorch", "hipify")


@dataclass(frozen=True)
class Cost:
    """What a command took, in all its processes; the memory is that of the largest of them."""

    wall_s: float
    cpu_s: float
    memory_mb: float


def cost_of(*command: str | Path) -> Cost:
    """Runs a command. Exit status 1 (findings) is not a failure."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for it again
    if child.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed with {child.returncode}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def median(costs: list[Cost]) -> Cost:
    """The median of each figure."""
    rows = [(one.wall_s, one.cpu_s, one.memory_mb) for one in costs]
    return Cost(*(statistics.median(column) for column in zip(*rows, strict=True)))


def copy_of(tree: Path, target: Path) -> list[Path]:
    """The C, C++ and CUDA files of a tree that are UTF-8, copied below `target`."""
    copied = []
    for path in find_sources(tree)[0]:
        data = path.read_bytes()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        copy = target / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
        copied.append(copy)
    return copied


def one_round(tree: Path, listing: Path, work: Path) -> dict[str, Cost]:
    """Each tool once, one after the other."""
    found = {}
    for name, jobs in (("kpt hipify -j 1", ("-j", "1")), ("kpt hipify", ())):
        found[name] = cost_of(*KPT, tree, "-o", work / "out", *jobs)
        shutil.rmtree(work / "out")
    changed = work / "changed"  # torch writes beside the originals
    shutil.copytree(tree, changed)
    found["torch.utils.hipify"] = cost_of(sys.executable, "-c", TORCH_CALL, changed)
    shutil.rmtree(changed)
    found["parse floor"] = cost_of(sys.executable, "-c", PARSE_CALL, listing)
    return found


def perl_cost(perl: str, files: list[Path], count: int) -> tuple[Cost, int]:
    """hipify-perl on a sample, and the bytes of the sample."""
    sample = files[:: max(1, len(files) // count)][:count]
    costs = [cost_of(perl, path) for path in sample]
    total = Cost(sum(one.wall_s for one in costs), sum(one.cpu_s for one in costs), max(one.memory_mb for one in costs))
    return total, sum(path.stat().st_size for path in sample)


def show(name: str, cost: Cost, size: int) -> None:
    """One line: time, memory and rate."""
    rate = size / cost.wall_s / 1e6
    print(f"{name:22} {cost.wall_s:7.2f} s wall {cost.cpu_s:7.2f} s CPU {cost.memory_mb:6.0f} MB {rate:7.2f} MB/s")


def show_ratios(costs: dict[str, Cost]) -> None:
    """Ours divided by theirs: below 1 is less time, or less memory."""
    print("\nours / theirs              wall    CPU memory")
    for ours in ("kpt hipify -j 1", "kpt hipify"):
        for theirs in ("torch.utils.hipify", "parse floor"):
            one, other = costs[ours], costs[theirs]
            ratios = (one.wall_s / other.wall_s, one.cpu_s / other.cpu_s, one.memory_mb / other.memory_mb)
            print(f"{ours:15} / {theirs:18}" + "".join(f" {ratio:6.2f}" for ratio in ratios))


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hipify-perl", default=shutil.which("hipify-perl"))
    parser.add_argument("--perl-files", type=int, default=20)
    parser.add_argument("--starts", type=int, default=7, help="how often the single file is translated")
    parser.add_argument("--json", type=Path, help="where to write the figures as well")
    args = parser.parse_args()
    compileall.compile_dir(Path(kernel_pytorch.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory(prefix="kpt-bench-") as scratch:
        work = Path(scratch)
        files = copy_of(args.tree, work / "tree")
        size = sum(path.stat().st_size for path in files)
        listing = work / "files.txt"
        listing.write_text("\n".join(map(str, files)))
        print(f"{len(files)} files, {size / 1e6:.2f} MB, {os.cpu_count()} cores, median of {args.rounds}", flush=True)
        rounds = [one_round(work / "tree", listing, work) for _ in range(args.rounds)]
        costs = {name: median([one[name] for one in rounds]) for name in rounds[0]}
        for name, cost in costs.items():
            show(name, cost, size)
        show_ratios(costs)
        if args.hipify_perl:
            cost, sampled = perl_cost(args.hipify_perl, files, args.perl_files)
            show(f"hipify-perl, {args.perl_files} files", cost, sampled)
            ratio = sampled / cost.cpu_s / (size / costs["kpt hipify -j 1"].cpu_s)
            print(f"kpt hipify -j 1 / hipify-perl: {ratio:.3f} of the CPU time for a byte")
        one = max((path for path in files if path.stat().st_size < 10_000), key=lambda path: path.stat().st_size)
        costs["one file"] = median([cost_of(*KPT, one) for _ in range(args.starts)])
        show(f"one file, {one.stat().st_size} bytes", costs["one file"], one.stat().st_size)
    if args.json:
        args.json.write_text(json.dumps({name: asdict(cost) for name, cost in costs.items()}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
