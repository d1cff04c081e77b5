#!/usr/bin/env python3
"""How many of HeCBench's CUDA programs build for an AMD target once translated: ours, hipify-perl, torch's hipify.

    git clone https://github.com/zjin-lcf/HeCBench
    python benchmarks/hecbench_hipify.py HeCBench --match a-m --tools kpt hipify-perl torch --cache twins.json

Counted are the programs whose hand-made *-hip twin builds with the same compiler and headers. Each *-cuda folder is
copied, translated without a hand edit, and the sources its own Makefile gives to nvcc are built (device pass to a code
object, host pass checked) with the Makefile's -D, -I and -std flags and -DUSE_ROCM, which a ROCm build defines.
--syntax checks both passes without making code: faster, for work on the translator. Nothing of HeCBench is kept here.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hecbench_build import Unit, classify, dry_run, options_of

from kernel_pytorch.toolchain.compile import (
    CompileFailed,
    check_host,
    compile_device,
)
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, errors
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.other_passes import check_device, link_device

TOOLS = ("kpt", "hipify-perl", "torch")
SOURCES = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".inc")


@dataclass(frozen=True)
class Outcome:
    """One program under one tool."""

    program: str
    tool: str
    status: str  # pass, fail or skip
    stage: str = ""
    cause: str = ""
    first_error: str = ""
    seconds: float = 0.0


def main() -> int:
    """Runs the comparison and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="a checkout of HeCBench")
    parser.add_argument("--match", default="a-m", help="first letters of the programs (capitals count as small)")
    parser.add_argument("--only", nargs="*", help="programs by name")
    parser.add_argument("--every", type=int, default=1, help="take one program of so many")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=["kpt"])
    parser.add_argument("--hipify-perl", type=Path, default=None, help="path of hipify-perl (default: on PATH)")
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--include", type=Path, action="append", default=[], help="third-party headers (boost, MPI)")
    parser.add_argument("--syntax", action="store_true", help="check both passes, make no code")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache", type=Path, help="file that keeps which twins build")
    parser.add_argument("--work", type=Path, help="keep the translated programs here")
    parser.add_argument("--json", type=Path, help="write all outcomes here, as they come")
    parser.add_argument("--resume", action="store_true", help="keep the passes that --json holds already, do the rest")
    args = parser.parse_args()
    toolchain = find_toolchain()
    print(f"toolchain: {toolchain.reason}", file=sys.stderr)
    work = args.work or Path(tempfile.mkdtemp(prefix="kpt-hecbench-"))
    build = Build(args.arch, toolchain, tuple(args.include), args.syntax)
    programs = select(args.path, args.match, args.only)[:: args.every]
    twins = twin_outcomes(args.path, programs, build, args.cache, args.jobs)
    counted = [name for name in programs if twins[name] == "pass"]
    print(f"{len(counted)} of {len(programs)} programs have a HIP twin that builds", file=sys.stderr)
    outcomes: list[Outcome] = []
    if args.resume and args.json and args.json.is_file():
        outcomes = [Outcome(**row) for row in json.loads(args.json.read_text()) if row["status"] == "pass"]
    for tool in args.tools:
        farm = Farm(args.path, work / tool, tool, args.hipify_perl)
        had = {outcome.program for outcome in outcomes if outcome.tool == tool}
        rest = [name for name in counted if name not in had]
        with ThreadPoolExecutor(args.jobs) as pool:
            jobs = pool.map(lambda name, farm=farm: one(farm, name, build), rest)
            for index, outcome in enumerate(jobs, 1):
                outcomes.append(outcome)
                print(
                    f"{tool} {index:4}/{len(rest)} {outcome.status} {outcome.program} {outcome.first_error[:150]}",
                    file=sys.stderr,
                )
                if args.json:
                    args.json.write_text(json.dumps([asdict(item) for item in outcomes], indent=1) + "\n")
    report(outcomes, args.tools, len(counted))
    if args.work is None:
        shutil.rmtree(work, ignore_errors=True)
    return 0


@dataclass(frozen=True)
class Build:
    """How a unit is built."""

    arch: str
    toolchain: Toolchain
    third_party: tuple[Path, ...]
    syntax: bool

    def check(self, units: list[Unit]) -> None:
        """Builds every unit; raises CompileFailed."""
        separate = any("-fgpu-rdc" in unit.flags for unit in units)
        objects: list[bytes] = []
        for unit in units:
            options = options_of(unit, list(self.third_party))
            if self.syntax:
                check_device(unit.source, self.arch, self.toolchain, options)
            else:
                kind = "object" if separate else "code-object"
                objects.append(compile_device(unit.source, self.arch, self.toolchain, options, kind))
            check_host(unit.source, self.toolchain, options, self.arch)
        if separate and objects:
            link_device(objects, self.toolchain)


def select(checkout: Path, letters: str, only: list[str] | None) -> list[str]:
    """Programs that have both a CUDA and a HIP folder."""
    wanted = re.compile(f"[{letters}]", re.IGNORECASE)
    names = sorted(path.name.removesuffix("-cuda") for path in (checkout / "src").glob("*-cuda") if path.is_dir())
    return [
        name
        for name in names
        if (name in only if only else wanted.match(name)) and (checkout / "src" / f"{name}-hip").is_dir()
    ]


def twin_outcomes(checkout: Path, programs: list[str], build: Build, cache: Path | None, jobs: int) -> dict[str, str]:
    """Which hand-made HIP programs build. Kept in `cache` between runs."""
    mode = "syntax" if build.syntax else "code"
    known: dict[str, dict[str, str]] = json.loads(cache.read_text()) if cache and cache.is_file() else {}
    have = known.setdefault(mode, {})

    def twin(name: str) -> str:
        units, _ = dry_run(checkout / "src" / f"{name}-hip")
        if not units:
            return "no HIP source in its Makefile"
        try:
            build.check(units)
        except CompileFailed as failure:
            return str(failure).splitlines()[0][:200]
        return "pass"

    missing = [name for name in programs if name not in have]
    with ThreadPoolExecutor(jobs) as pool:
        for index, (name, outcome) in enumerate(zip(missing, pool.map(twin, missing), strict=True), 1):
            have[name] = outcome
            if cache and (index % 10 == 0 or index == len(missing)):
                cache.write_text(json.dumps(known, indent=1) + "\n")
            print(f"twin {index}/{len(missing)} {name}: {outcome[:100]}", file=sys.stderr)
    return {name: have[name] for name in programs}


def make_farm(src: Path, farm: Path) -> Path:
    """A folder of links to every program, so that `../other-cuda/file.h` is found. Translated ones replace links."""
    farm.mkdir(parents=True, exist_ok=True)
    for path in src.iterdir():
        link = farm / path.name
        if not link.exists():
            link.symlink_to(path.resolve())
    return farm


class Farm:
    """Translated programs beside links to all others. Folders a program's Makefile points at are translated as well."""

    def __init__(self, checkout: Path, root: Path, tool: str, perl: Path | None) -> None:
        self.src = checkout / "src"
        self.root = make_farm(self.src, root)
        self.tool = tool
        self.perl = perl
        self._renamed: dict[str, dict[Path, Path]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def prepare(self, folder: str) -> dict[Path, Path]:
        """Copies and translates one folder, once. Says which sources got another name."""
        with self._locks[folder]:
            if folder not in self._renamed:
                target = self.root / folder
                if target.is_symlink():
                    target.unlink()
                else:
                    shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(self.src / folder, target, symlinks=True)
                translate = {"kpt": with_kpt, "hipify-perl": with_perl, "torch": with_torch}[self.tool]
                self._renamed[folder] = translate(target, self.perl)
            return self._renamed[folder]


def one(farm: Farm, name: str, build: Build) -> Outcome:
    """Translates and builds one program."""
    started = time.monotonic()
    folder = f"{name}-cuda"
    found = nvcc_units(farm.src / folder)
    if not found:
        return Outcome(name, farm.tool, "skip", "makefile", "no CUDA source in the output of make -n")
    try:
        renamed = farm.prepare(folder)
        for sibling in sorted(
            {part for unit in found for flag in unit.flags for part in re.findall(r"([\w+.-]+-cuda)(?:/|$)", flag)}
        ):
            if sibling != folder and (farm.src / sibling).is_dir():
                farm.prepare(sibling)
        units = []
        for unit in found:
            source = farm.root / unit.source.relative_to(farm.src)
            directory = farm.root / unit.directory.relative_to(farm.src)
            units.append(Unit(directory, renamed.get(source.resolve(), source), unit.flags))
        build.check(units)
    except CompileFailed as failure:
        first = (errors(failure.messages) or failure.messages)[0]
        seconds = time.monotonic() - started
        shown = str(first).replace(str(farm.root) + "/", "")
        return Outcome(name, farm.tool, "fail", "build", classify(first.text, first.code), shown, round(seconds, 1))
    return Outcome(name, farm.tool, "pass", seconds=round(time.monotonic() - started, 1))


COMPILER = re.compile(r"(?:^|[\s/])(?:nvcc|nvc\+\+)\s")


def nvcc_units(folder: Path) -> list[Unit]:
    """The sources a program's Makefiles give to NVIDIA's compiler, with their -D, -I and -std flags."""
    names = ("Makefile", "makefile", "GNUmakefile")
    places = (
        [folder]
        if any((folder / name).is_file() for name in names)
        else sorted(p.parent for p in folder.rglob("Makefile"))
    )
    units: dict[Path, Unit] = {}
    for place in places:
        command = ["make", "-n", "-B", "-k", "-w", "-C", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
        directories = [place]
        for line in done.stdout.replace("\\\n", " ").splitlines():
            entering = re.match(r"make(?:\[\d+\])?: Entering directory '(.+)'", line)
            if entering:
                directories.append(Path(entering.group(1)))
            elif re.match(r"make(?:\[\d+\])?: Leaving directory", line):
                directories.pop()
            elif COMPILER.search(line):
                for unit in nvcc_compilations(line, directories[-1]):
                    units.setdefault(unit.source, unit)
    return list(units.values())


def nvcc_compilations(line: str, directory: Path) -> Iterator[Unit]:
    """The sources on one nvcc command line."""
    try:
        words = shlex.split(line)
    except ValueError:
        return
    starts = [index for index, word in enumerate(words) if Path(word).name in ("nvcc", "nvc++")]
    if not starts:
        return
    flags: list[str] = []
    sources: list[Path] = []
    rest = iter(words[starts[0] + 1 :])
    for word in rest:
        if word in ("-o", "-x", "-L", "-l", "-arch", "-gencode", "-ccbin", "-Xptxas", "-Xlinker"):
            next(rest, None)
        elif word in ("-Xcompiler", "--compiler-options"):
            flags += [flag for flag in next(rest, "").split(",") if flag.startswith(("-D", "-I", "-U"))]
        elif word in ("-I", "-D", "-isystem", "-include", "-U"):
            flags += [word, next(rest, "")]
        elif word in ("&&", ";", "||", "|"):
            break
        elif word.startswith(("-D", "-I", "-U", "-std=", "-isystem")):
            flags.append(word)
        elif word in ("-rdc=true", "--relocatable-device-code=true", "-dc"):
            flags.append("-fgpu-rdc")
        elif word.endswith((".cu", ".cpp", ".cc", ".cxx", ".c")) and not word.startswith("-"):
            sources.append(directory / word)
    for path in sources:
        if path.is_file() and path.suffix != ".c":
            yield Unit(directory, path, (*flags, "-DUSE_ROCM"))


def with_kpt(folder: Path, _: Path | None) -> dict[Path, Path]:
    """Our translation, written over the copy; .cu files get .hip twins."""
    from kernel_pytorch.port.hipify.file import HipifyOptions
    from kernel_pytorch.port.hipify.run import run_task
    from kernel_pytorch.port.hipify.tree import find_sources, tasks_of

    files, *_ = find_sources(folder)
    renamed = {path.resolve(): path.with_suffix(".hip") for path in files if path.suffix == ".cu"}
    with tempfile.TemporaryDirectory() as scratch:
        for task in tasks_of(folder, files):
            run_task(task, HipifyOptions(), Path(scratch))
        shutil.copytree(scratch, folder, dirs_exist_ok=True)
    return renamed


def with_perl(folder: Path, perl: Path | None) -> dict[Path, Path]:
    """hipify-perl on every source file, in place in the copy."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in SOURCES and path.is_file()]
    tool = str(perl or "hipify-perl")
    for path in files:
        done = subprocess.run([tool, str(path)], capture_output=True, check=False)
        if done.returncode == 0 and done.stdout:
            path.write_bytes(done.stdout)
    return {}


TORCH_CALL = """
import json, sys
from torch.utils.hipify import hipify_python
folder, suffixes = sys.argv[1], tuple(sys.argv[2].split())
made = hipify_python.hipify(project_directory=folder, output_directory=folder, extensions=suffixes,
                            includes=[folder + "/*"], show_detailed=False, is_pytorch_extension=False)
print("RESULT" + json.dumps({key: value.hipified_path for key, value in made.items() if value.hipified_path}))
"""


def with_torch(folder: Path, _: Path | None) -> dict[Path, Path]:
    """torch.utils.hipify on the copy; its own names for the results."""
    command = [sys.executable, "-c", TORCH_CALL, str(folder), " ".join(SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
    if line is None:
        last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}"
        message = CompilerMessage(None, 0, 0, "error", f"torch.utils.hipify itself failed: {last}")
        raise CompileFailed((message,), done.stderr, tuple(command[:1]))
    pairs = json.loads(line.removeprefix("RESULT"))
    return {Path(old).resolve(): Path(new) for old, new in pairs.items() if Path(new).is_file()}


def report(outcomes: list[Outcome], tools: list[str], counted: int) -> None:
    """Totals per tool, then what failed, by class."""
    for tool in tools:
        rows = [outcome for outcome in outcomes if outcome.tool == tool]
        passed = sum(outcome.status == "pass" for outcome in rows)
        print(f"{tool}: {passed} of {counted} build ({100 * passed / max(1, counted):.1f} %)")
        classes: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in rows:
            if outcome.status != "pass":
                classes[f"{outcome.stage}: {outcome.cause}"].append(outcome)
        for cause, failed in sorted(classes.items(), key=lambda item: -len(item[1])):
            names = ", ".join(outcome.program for outcome in failed)
            print(f"{len(failed):4}  {cause}\n      {names}\n      {failed[0].first_error[:200]}")


if __name__ == "__main__":
    sys.exit(main())
