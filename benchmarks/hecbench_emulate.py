#!/usr/bin/env python3
"""How many of HeCBench's self-checking programs pass their own checks on the emulated GPU.

    git clone https://github.com/zjin-lcf/HeCBench && python benchmarks/hecbench_emulate.py HeCBench --match a-m

Each program is built for a target from its hand-made HIP twin (or, with --ported, from our translation of its CUDA
twin) and run with the arguments of its Makefile's `run` target, the repeat count set to 1 and sizes made smaller until
it ends within the time limit. It passes when it exits with 0, says PASS (or the like) and never FAIL.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from hecbench_build import Unit, dry_run, options_of, select
from hecbench_hipify import Farm, nvcc_units

from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import Settings, run_program
from kernel_pytorch.toolchain.compile import CompileFailed
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain

CHECKS_ITSELF = re.compile(r"\bPASS|\bFAIL|[Vv]erif|[Mm]ismatch|[Ii]ncorrect|[Ss]uccess|test passed", re.IGNORECASE)
GOOD = re.compile(
    r"\bPASS(?:ED)?\b|success|verified|\bcorrect\b|results? (?:match|agree)|test passed|matches", re.IGNORECASE
)
BAD = re.compile(r"\bFAIL(?:ED|URE)?\b|mismatch|incorrect|\bwrong\b|not verified|does not match|\bnan\b", re.IGNORECASE)
LIBRARIES = re.compile(
    r"-l(hipblas|hipblaslt|hipfft|hiprand|hipsolver|hipsparse|rocblas|rocfft|rocrand|rocsolver|rocsparse|rccl|MIOpen)\b"
)
SHRINK = (1, 16, 128)


@dataclass(frozen=True)
class Outcome:
    """What became of one program on one GPU."""

    program: str
    gpu: str
    status: str  # pass, fail, no-check, build, translate, slow, data
    detail: str
    arguments: str
    launches: int
    seconds: float


def main() -> int:
    """Runs every matching program and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path, help="a checkout of HeCBench")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--match", default="a-z", help="first letters, such as a-m")
    parser.add_argument("--only", nargs="*", help="programs by name, without -hip")
    parser.add_argument("--every", type=int, default=1, help="take one program of so many")
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--ported", action="store_true", help="our translation of the -cuda twin, not the -hip one")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for one run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write all outcomes here")
    args = parser.parse_args()
    toolchain = find_toolchain()
    gpu = gpu_by_alias(args.gpu)
    programs = select(args.path, args.match, args.only)[args.offset :: args.every]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(args.jobs) as pool, tempfile.TemporaryDirectory(prefix="kpt-farm-") as scratch:
        farm = Farm(args.path, Path(scratch), "kpt", None) if args.ported else None
        for outcome in pool.map(lambda folder: emulate(folder, gpu, toolchain, args.limit, farm), programs):
            outcomes.append(outcome)
            line = f"{len(outcomes):4}/{len(programs)} {outcome.status:9} {outcome.program} {outcome.detail[:90]}"
            print(line, flush=True)
            if args.json:
                args.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    report(outcomes)
    return 0


def emulate(folder: Path, gpu: GPU, toolchain: Toolchain, limit: float, farm: Farm | None) -> Outcome:
    """Build one program and run it, smaller each time it does not end."""
    started = time.monotonic()

    def outcome(status: str, detail: str = "", arguments: str = "", launches: int = 0) -> Outcome:
        return Outcome(folder.name, gpu.target.name, status, detail, arguments, launches, time.monotonic() - started)

    if not checks_itself(folder):
        return outcome("no-check", "prints no verdict")
    with tempfile.TemporaryDirectory(prefix="kpt-hecbench-") as scratch:
        try:
            executable = build(folder, gpu, toolchain, Path(scratch), farm)
        except CompileFailed as failure:
            return outcome("build", str(failure).splitlines()[0][:300])
        except (ValueError, RuntimeError) as failure:
            return outcome("translate", str(failure).splitlines()[0][:300])
        words = run_words(folder)
        if any("/" in word and not (folder / word).exists() for word in words):
            return outcome("data", "needs an input file that is not there")
        for factor in SHRINK:
            smaller = shrunk(words, factor)
            run = run_program(executable, smaller, gpu, Settings(timeout_s=limit, watchdog_s=limit), directory=folder)
            if run.exit_code is not None:
                break
        text = run.stdout + run.stderr
        said = " ".join(smaller)
        if run.exit_code is None:
            return outcome("slow", f"did not end within {limit:g} s", said, len(run.events.launches))
        if run.events.faults:
            fault = run.events.faults[0]
            return outcome(
                "fail", f"fault: {fault.kind} at {fault.place}: {fault.detail}", said, len(run.events.launches)
            )
        if run.exit_code != 0:
            return outcome("fail", f"exit {run.exit_code}: {tail(text)}", said, len(run.events.launches))
        if BAD.search(text):
            line = next(line for line in text.splitlines() if BAD.search(line))
            return outcome("fail", line.strip(), said, len(run.events.launches))
        good = GOOD.search(text) is not None
        return outcome("pass" if good else "no-check", "" if good else tail(text), said, len(run.events.launches))


def build(folder: Path, gpu: GPU, toolchain: Toolchain, scratch: Path, farm: Farm | None) -> Path:
    """The executable of one program, linked against the emulator."""
    units, plan = dry_run(folder)
    libraries = sorted(set(LIBRARIES.findall(plan)))
    if farm is not None:
        units = translated_units(farm, folder.name.removesuffix("-hip"))
    if not units:
        raise ValueError("no source in the output of make -n")
    destination = scratch / "program"
    options = options_of(units[0], [])
    build_emulated([unit.source for unit in units], gpu.target.name, toolchain, destination, options, libraries)
    return destination


def translated_units(farm: Farm, name: str) -> list[Unit]:
    """The sources of our translation of the CUDA twin, with the flags of its Makefile."""
    folder = f"{name}-cuda"
    if not (farm.src / folder).is_dir():
        raise ValueError(f"no {folder}")
    renamed = farm.prepare(folder)
    units = []
    for unit in nvcc_units(farm.src / folder):
        source = farm.root / unit.source.relative_to(farm.src)
        directory = farm.root / unit.directory.relative_to(farm.src)
        units.append(Unit(directory, renamed.get(source.resolve(), source), unit.flags))
    return units


def checks_itself(folder: Path) -> bool:
    """True when a source of the program, or a file it includes from a sibling, prints a verdict."""
    files = [path for path in folder.rglob("*") if path.suffix in (".cu", ".hip", ".cpp", ".h", ".hpp", ".cuh", ".cc")]
    return any(CHECKS_ITSELF.search(path.read_text(errors="replace")) for path in files)


def run_words(folder: Path) -> list[str]:
    """The arguments of the program in the Makefile's run target."""
    done = subprocess.run(
        ["make", "-n", "-B", "-C", str(folder), "run"], capture_output=True, text=True, check=False, timeout=60
    )
    lines = [line for line in done.stdout.splitlines() if re.match(r"\s*\./\w", line)]
    return lines[0].split()[1:] if lines else []


def shrunk(words: list[str], factor: int) -> list[str]:
    """The same arguments with the last number (by custom the repeat count) at 1 and large sizes divided."""
    numbers = [index for index, word in enumerate(words) if re.fullmatch(r"\d+", word)]
    result = list(words)
    for position, index in enumerate(numbers):
        value = int(words[index])
        if position == len(numbers) - 1 and value >= 10:
            result[index] = "1"
        elif value >= 512:
            result[index] = str(max(256, value // factor))
    return result


def tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "printed nothing"


def report(outcomes: list[Outcome]) -> None:
    """Totals over the programs that check themselves, then the rest by reason."""
    counts = collections.Counter(outcome.status for outcome in outcomes)
    judged = counts["pass"] + counts["fail"] + counts["translate"] + counts["slow"]
    share = 100 * counts["pass"] / max(1, judged)
    print(f"pass {counts['pass']} of {judged} self-checking programs that build ({share:.1f} %)")
    print(", ".join(f"{status} {number}" for status, number in counts.most_common()))
    for status in ("fail", "translate", "slow", "build"):
        for outcome in outcomes:
            if outcome.status == status:
                print(f"  {status}: {outcome.program} {outcome.arguments}: {outcome.detail[:200]}")


if __name__ == "__main__":
    shutil.which("make") or sys.exit("make is needed")
    sys.exit(main())
