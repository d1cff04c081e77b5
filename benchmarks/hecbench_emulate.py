#!/usr/bin/env python3
"""How many of HeCBench's self-checking programs pass their own checks on the emulated GPU.

    git clone https://github.com/zjin-lcf/HeCBench && python benchmarks/hecbench_emulate.py HeCBench --match a-m

Each program is built for a target from its hand-made HIP twin (or, with --ported, from our translation of its CUDA
twin) and run with the arguments of its Makefile's `run` target, the repeat count set to 1 and sizes made smaller until
it ends within the limit of CPU seconds. It passes when it exits with 0, says PASS (or the like) and never FAIL. What
runs just past a buffer is tried again with --whole-pages, as drivers allocate, and the outcome says so. What fails is
tried with larger sizes too: a program may count on one. `--arguments FILE` remembers what worked.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hecbench_arguments import SOURCES, arguments, downwards, run_words, upwards
from hecbench_build import Unit, dry_run, options_of, select
from hecbench_hipify import Farm, nvcc_units

from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import Outcome as Run
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain

GOOD = re.compile(
    r"\bPASS(?:ED|ES)?\b|success|verified|\bcorrect\b|results? (?:match|agree)|test passed|matches", re.IGNORECASE
)
BAD = re.compile(
    r"\bFAIL(?:ED|URE|S)?\b|mismatch|incorrect|\bwrong\b|not verified|does not match|\bnan\b", re.IGNORECASE
)
VENDOR = re.compile(
    r"-l(hipblas|hipblaslt|hipfft|hiprand|hipsolver|hipsparse|rocblas|rocfft|rocrand|rocsolver|rocsparse|rccl|MIOpen)\b"
)
NONE = re.compile(r":\s*0\s*$")  # "Number of incorrect matches: 0"
NO_FILE = re.compile(
    r".*(?:unable to|can ?not|can't|could not|couldn't|failed to|error) (?:be )?(?:open|read|load|find).*"
    r"|.*no such file.*",
    re.IGNORECASE,
)
SIBLING = re.compile(r"([\w+.-]+-cuda)(?:/|$)")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
OTHER_LIBRARIES = re.compile(r"\s(-l(?:z|bz2|rt|gfortran|boost_\w+|mpi|mpi_cxx))\b")


@dataclass(frozen=True)
class Outcome:
    """What became of one program on one GPU."""

    program: str
    gpu: str
    status: str  # pass, fail, no-check, build, translate, slow, data, error
    detail: str
    arguments: str
    launches: int
    seconds: float


@dataclass(frozen=True)
class Bench:
    """What all programs of one invocation share."""

    gpu: GPU
    toolchain: Toolchain
    cpu_s: float
    memory_gb: float
    farm: Farm | None
    include: tuple[Path, ...]
    known: dict[str, str]  # program -> arguments that worked before


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
    parser.add_argument("--cpu", type=float, default=30.0, help="CPU seconds for one run")
    parser.add_argument("--memory", type=float, default=6.0, help="GB of device memory for one run")
    parser.add_argument("--include", type=Path, action="append", default=[], help="third-party headers (boost, MPI)")
    parser.add_argument("--arguments", type=Path, help="a file of arguments that worked: read, and added to")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="all outcomes; those already in it are not run again")
    parser.add_argument("--again", nargs="*", default=[], help="statuses in the --json file to run again, such as slow")
    args = parser.parse_args()
    known = remembered(args.arguments)
    done = [Outcome(**row) for row in json.loads(args.json.read_text())] if args.json and args.json.is_file() else []
    programs = select(args.path, args.match, args.only)[args.offset :: args.every]
    wanted = {folder.name for folder in programs}
    kept = [one for one in done if one.status not in args.again and not (args.only and one.program in wanted)]
    todo = [folder for folder in programs if folder.name not in {one.program for one in kept}]
    with ThreadPoolExecutor(args.jobs) as pool, tempfile.TemporaryDirectory(prefix="kpt-farm-") as scratch:
        farm = Farm(args.path, Path(scratch), "kpt", None) if args.ported else None
        gpu = gpu_by_alias(args.gpu)
        bench = Bench(gpu, find_toolchain(), args.cpu, args.memory, farm, tuple(args.include), known)
        running = [pool.submit(emulate, folder, bench) for folder in todo]
        for number, future in enumerate(as_completed(running), 1):
            outcome = future.result()
            kept.append(outcome)
            print(f"{number:4}/{len(todo)} {outcome.status:9} {outcome.program} {outcome.detail[:90]}", flush=True)
            if args.json:
                kept.sort(key=lambda one: one.program)
                args.json.write_text(json.dumps([asdict(one) for one in kept], indent=1) + "\n")
            if args.arguments and outcome.status == "pass":
                remember(args.arguments, outcome)
    report([one for one in kept if one.program in wanted])
    return 0


def remembered(path: Path | None) -> dict[str, str]:
    """Program -> arguments that worked."""
    return dict(json.loads(path.read_text())) if path is not None and path.is_file() else {}


def remember(path: Path, outcome: Outcome) -> None:
    """Add the arguments of a pass; another run, or a person, may have added some meanwhile."""
    known = {**remembered(path), outcome.program: outcome.arguments}
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def emulate(folder: Path, bench: Bench) -> Outcome:
    """Build one program and run it with arguments that it ends with."""
    started = time.monotonic()
    found = Outcome(folder.name, bench.gpu.target.name, "no-check", "prints no verdict", "", 0, 0.0)
    if checks_itself(folder):
        words = run_words(folder)
        if any("/" in word and not (folder / word).exists() for word in words if not word.startswith("-")):
            found = replace(found, status="data", detail="needs an input file that is not there")
        else:
            try:
                found = build_and_run(folder, words, bench, found)
            except Exception as failure:  # one program's trouble must not end the run of hundreds
                found = replace(found, status="error", detail=f"{type(failure).__name__}: {failure}")
    return replace(found, detail=found.detail[:300], seconds=round(time.monotonic() - started, 1))


def build_and_run(folder: Path, words: list[str], bench: Bench, found: Outcome) -> Outcome:
    """The outcome of a program that checks itself."""
    with tempfile.TemporaryDirectory(prefix="kpt-hecbench-") as scratch:
        try:
            executable = build(folder, bench, Path(scratch))
        except CompileFailed as failure:
            return replace(found, status="build", detail=link_error(failure) or str(failure).splitlines()[0])
        except subprocess.TimeoutExpired:
            return replace(found, status="build", detail="make -n did not end")
        except (ValueError, RuntimeError) as failure:
            return replace(found, status="translate", detail=(str(failure).splitlines() or ["no reason given"])[0])
        return try_sizes(folder, executable, words, bench, found)


def try_sizes(folder: Path, executable: Path, words: list[str], bench: Bench, found: Outcome) -> Outcome:
    """Run smaller while it does not end and larger while it fails; the first pass counts, else the first failure."""

    def attempt(chosen: list[str], factor: float = 1.0) -> Outcome:
        cpu_s = factor * bench.cpu_s
        longest = 20 * cpu_s  # of the clock: other work may have the machine
        settings = RunSettings(cpu_s=cpu_s, timeout_s=longest, watchdog_s=longest, memory_gb=bench.memory_gb)
        run = run_program(executable, chosen, bench.gpu, settings, directory=folder)
        status, detail = verdict(run, cpu_s)
        if detail.startswith("fault: bounds"):  # hardware gives whole pages: does it pass its own check there?
            run = run_program(executable, chosen, bench.gpu, replace(settings, whole_pages=True), directory=folder)
            status, _ = verdict(run, cpu_s)
            detail = f"--whole-pages; {detail}"
        count = len(run.events.launches)
        return replace(found, status=status, detail=detail, arguments=" ".join(chosen), launches=count)

    if folder.name in bench.known:
        return attempt(bench.known[folder.name].split(), 3)
    given = arguments(folder, words)
    candidates = downwards(given)
    for number, chosen in enumerate(candidates, 1):
        first = attempt(chosen, 2 if number == len(candidates) else 1)
        if first.status != "slow":
            break
    if first.status == "fail":
        for chosen in upwards(given, candidates[:number]):
            larger = attempt(chosen)
            if larger.status == "pass":
                return larger
    return first


def verdict(run: Run, cpu_s: float) -> tuple[str, str]:
    """What a run says of itself."""
    text = run.stdout + run.stderr
    if run.exit_code is None:
        return "slow", f"did not end within {cpu_s:g} s of CPU time"
    if run.events.faults:
        fault = run.events.faults[0]
        return "fail", f"fault: {fault.kind} at {fault.place}: {fault.detail}"
    if run.exit_code != 0:
        missing = NO_FILE.search(text)
        return ("data", missing.group(0)) if missing else ("fail", f"exit {run.exit_code}: {last_line(text)}")
    bad = [line for line in text.splitlines() if BAD.search(line) and not NONE.search(line)]
    if bad:
        return "fail", bad[0].strip()
    return ("pass", "") if GOOD.search(text) else ("no-check", last_line(text))


def build(folder: Path, bench: Bench, scratch: Path) -> Path:
    """The executable of one program, linked against the emulator."""
    units, plan = dry_run(folder)
    vendor = sorted(set(VENDOR.findall(plan)))
    if bench.farm is not None:
        units = translated_units(bench.farm, folder.name.removesuffix("-hip"))
    if not units:
        raise ValueError("no source in the output of make -n")
    destination = scratch / "program"
    options, link = without_openmp(replace(options_of(units[0], list(bench.include)), timeout_s=1200))
    if bench.gpu.target.wave_size == 32:  # the Makefile's own switch, which it sets for 64 lanes
        options = replace(options, extra=tuple(flag for flag in options.extra if flag != "-DWAVE64"))
    others = [*sorted(set(OTHER_LIBRARIES.findall(plan))), *threading_blocks()]
    sources = [unit.source for unit in units]
    target = bench.gpu.target.name
    build_emulated(sources, target, bench.toolchain, destination, options, vendor, link=[*others, *link])
    return destination


def without_openmp(options: CompileOptions) -> tuple[CompileOptions, list[str]]:
    """OpenMP on the host as one thread: clang's runtime for it is rarely there, gcc's header and library are."""
    if not any(flag.startswith("-fopenmp") for flag in options.extra):
        return options, []
    headers = subprocess.run(["gcc", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout
    kept = tuple(flag for flag in options.extra if not flag.startswith("-fopenmp"))
    return replace(options, extra=(*kept, "-idirafter", headers.strip())), ["-lgomp"]


def threading_blocks() -> list[str]:
    """What <execution> of the C++ library needs where TBB's headers are installed."""
    words = ["g++", "-print-file-name=libtbb.so"]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return ["-Wl,--as-needed", "-ltbb"] if "/" in found else []


def link_error(failure: CompileFailed) -> str:
    """The first thing the host's linker misses."""
    found = re.search(r"undefined reference to `[^']+'|cannot find -l\S+", failure.stderr)
    return f"link: {found.group(0)}" if found else ""


def translated_units(farm: Farm, name: str) -> list[Unit]:
    """The sources of our translation of the CUDA twin, with the flags of its Makefile."""
    folder = f"{name}-cuda"
    if not (farm.src / folder).is_dir():
        raise ValueError(f"no {folder}")
    renamed = farm.prepare(folder)
    found = nvcc_units(farm.src / folder)
    for sibling in sorted({part for unit in found for flag in unit.flags for part in SIBLING.findall(flag)}):
        if sibling != folder and (farm.src / sibling).is_dir():
            farm.prepare(sibling)
    units = []
    for unit in found:
        source = farm.root / unit.source.relative_to(farm.src)
        directory = farm.root / unit.directory.relative_to(farm.src)
        units.append(Unit(directory, renamed.get(source.resolve(), source), unit.flags))
    return units


def checks_itself(folder: Path) -> bool:
    """True when a text that a source of the program, or a header it takes from a sibling, can print is a verdict."""
    files = [path for path in folder.rglob("*") if path.suffix in SOURCES and path.is_file()]
    makefile = folder / "Makefile"
    beside = re.findall(r"\.\./([\w+.-]+)", makefile.read_text(errors="replace")) if makefile.is_file() else []
    for name in sorted(set(beside)):
        files += [path for path in (folder.parent / name).glob("*.h*") if path.is_file()]
    texts = (path.read_text(errors="replace") for path in files)
    return any(GOOD.search(literal) for text in texts for literal in LITERAL.findall(text))


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "printed nothing"


def report(outcomes: list[Outcome]) -> None:
    """Totals over the programs that check themselves, then the rest by reason."""
    counts = collections.Counter(outcome.status for outcome in outcomes)
    judged = counts["pass"] + counts["fail"] + counts["translate"] + counts["slow"] + counts["error"]
    share = 100 * counts["pass"] / max(1, judged)
    print(f"pass {counts['pass']} of {judged} self-checking programs that build ({share:.1f} %)")
    print(", ".join(f"{status} {number}" for status, number in counts.most_common()))
    for status in ("pass", "fail", "translate", "error", "slow", "build"):
        for outcome in outcomes:
            if outcome.status == status and (status != "pass" or outcome.detail):
                print(f"  {status}: {outcome.program} {outcome.arguments}: {outcome.detail[:200]}")


if __name__ == "__main__":
    shutil.which("make") or sys.exit("make is needed")
    sys.exit(main())
