#!/usr/bin/env python3
"""The self-checking programs of a collection of CUDA samples, translated and run on an emulated GPU.

    python benchmarks/cuda_samples.py cuda-samples --include Common --work translated --json units.json
    python benchmarks/cuda_samples_emulate.py translated units.json --include Common --gpu mi300x

A program is a .cu file with a main(), or all units of a folder where one of them has it. Programs whose units all
compile are built and run in their own folder, within a limit of CPU seconds: without arguments, or with those that
--arguments gives for them (a file like cuda-samples' own test_args.json). With --data their input files are linked
there from the collection. One passes when it ends with 0, never says that it failed, and says that it passed where it
has words for that. One that waives itself is run again with two GPUs.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cuda_samples import options_of, remember, remembered
from hecbench_emulate import GOOD, LITERAL, link_error, verdict

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.jobs.program_build import is_plain
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.toolchain.compile import CompileFailed, compile_device
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.other_passes import compile_plain

MAIN = re.compile(rb"^\s*(?:int|void)?\s*main\s*\(", re.MULTILINE)
WAIVED = 2
SOURCES = (".cu", ".cuh", ".h", ".hpp", ".inl", ".c", ".cpp")
DIFFERS = re.compile(r"do(?:es)? not match|not equal|don't match|has errors", re.IGNORECASE)
BY_STATUS = re.compile(rb"\?\s*EXIT_SUCCESS\s*:\s*EXIT_FAILURE")  # the exit status is the verdict
MODULE = re.compile(rb'"((\w+?)(?:64|32)?\.(?:fatbin|cubin|ptx))"')
OTHERS = {
    re.compile(rb"#\s*include\s*[<\"](?:GL/)?(?:free)?glut|helper_gl\.h"): ("-lglut", "-lGLU", "-lGL"),
    re.compile(rb"#\s*include\s*[<\"]mpi\.h"): ("-lmpi", "-lmpi_cxx"),
}
LIBRARY = re.compile(rb"#\s*include\s*[<\"](hip(?:blas|blaslt|fft|rand|solver|sparse|rtc))[/.]")


@dataclass(frozen=True)
class Ran:
    """One program on one GPU."""

    program: str
    status: str
    detail: str = ""
    arguments: str = ""
    seconds: float = 0.0


def main() -> int:
    """Builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="the translated collection (--work of cuda_samples.py)")
    parser.add_argument("units", type=Path, help="its outcomes (--json of cuda_samples.py)")
    parser.add_argument("--include", action="append", default=[], help="include folder of the collection, relative")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--cpu", type=float, default=20.0, help="CPU seconds for one run")
    parser.add_argument("--match", default="", help="only programs whose path matches this regular expression")
    parser.add_argument("--every", type=int, default=1, help="take one program of so many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", type=Path, help="the collection: its input files are linked beside the translation")
    parser.add_argument("--arguments", type=Path, help='{"program": {"args": [...]}, ...}: arguments for some of them')
    parser.add_argument("--json", type=Path, help="write all outcomes here; programs already in it are not run again")
    parser.add_argument("--again", nargs="*", default=[], help="statuses in the --json file to run again, such as slow")
    args = parser.parse_args()
    work = args.work.resolve()
    common = [work / name for name in args.include]
    gpu, toolchain = gpu_by_alias(args.gpu), find_toolchain()
    given = json.loads(args.arguments.read_text()) if args.arguments else {}
    if args.data:
        link_data(args.data.resolve(), work)

    def run(program: tuple[str, list[Path]]) -> Ran:
        name, sources = program
        with tempfile.TemporaryDirectory(prefix="kpt-samples-") as scratch:
            executable = Path(scratch) / "program"
            objects = []
            text = b"".join(path.read_bytes() for path in sources)
            libraries = sorted({found.decode() for found in LIBRARY.findall(text + headers_of(sources, common))})
            try:
                options = options_of(sources[0], common)
                options = replace(options, defines=(*options.defines, "KPT_SOFTWARE_TEXTURES"))
                for module, source in modules_of(text, sources[0].parent):
                    module.unlink(missing_ok=True)
                    module.write_bytes(compile_device(source, gpu.target.name, toolchain, options))
                plain = [path for path in sources if is_plain(path, common)]
                for source in plain:
                    objects.append(Path(scratch) / f"{source.stem}.o")
                    objects[-1].write_bytes(compile_plain(source, toolchain, options))
                compiled = [path for path in sources if path not in plain]
                others = [word for used, words in OTHERS.items() if used.search(text) for word in words]
                link = [*map(str, objects), *others, "-lpthread"]
                build_emulated(compiled, gpu.target.name, toolchain, executable, options, libraries, link=link)
            except (CompileFailed, ValueError, RuntimeError) as failure:
                reason = link_error(failure) if isinstance(failure, CompileFailed) else ""
                return Ran(name, "build", reason or (str(failure).splitlines() or ["no reason given"])[0])
            settings = RunSettings(cpu_s=args.cpu, timeout_s=20 * args.cpu, watchdog_s=20 * args.cpu, memory_gb=4)
            words = arguments_of(name, given)
            started = time.monotonic()
            ran = run_program(executable, words, gpu, settings, directory=sources[0].parent)
            if ran.exit_code == WAIVED:  # NVIDIA's samples: a second GPU, or a feature that this one has not
                settings = replace(settings, devices=2)
                ran = run_program(executable, words, gpu, settings, directory=sources[0].parent)
            status, detail = verdict(ran, args.cpu)
            if ran.exit_code == WAIVED and status == "fail":
                status = "waived"
            seconds = round(time.monotonic() - started, 1)
            differs = next((line for line in ran.stdout.splitlines() if DIFFERS.search(line)), "")
            if differs and status in ("pass", "no-check"):
                return Ran(name, "fail", differs, " ".join(words), seconds)
            says_passed = not BY_STATUS.search(text) and any(
                GOOD.search(one) for one in LITERAL.findall(text.decode(errors="replace"))
            )
            status = "pass" if status == "no-check" and not says_passed else status
            return Ran(name, status, detail, " ".join(words), seconds)

    chosen = [one for one in programs(work, json.loads(args.units.read_text())) if re.search(args.match, one[0])]
    chosen = chosen[:: args.every]
    outcomes = [one for one in (Ran(**row) for row in remembered(args.json)) if one.status not in args.again]
    done = {one.program for one in outcomes}
    with ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(run, [one for one in chosen if one[0] not in done]):
            outcomes.append(outcome)
            print(f"{len(outcomes):4} {outcome.status} {outcome.program} {outcome.detail[:100]}", file=sys.stderr)
            remember(args.json, outcomes)
    outcomes = [one for one in outcomes if one.program in {name for name, _ in chosen}]
    count = collections.Counter(one.status for one in outcomes)
    print(
        f"{args.gpu}: {len(outcomes)} programs: " + ", ".join(f"{status} {count[status]}" for status in sorted(count))
    )
    for one in outcomes:
        if one.status != "pass":
            print(f"  {one.status}: {one.program}: {one.detail[:200]}")
    return 0


def link_data(collection: Path, work: Path) -> None:
    """Links beside the translation for the files of the collection that the translation did not write."""
    for path in collection.rglob("*"):
        beside = work / path.relative_to(collection)
        if ".git" in path.parts or path.suffix in SOURCES:
            continue
        if path.is_dir():
            beside.mkdir(exist_ok=True)
        elif path.is_file() and not beside.exists():
            beside.symlink_to(path)


def modules_of(text: bytes, folder: Path) -> list[tuple[Path, Path]]:
    """The files of machine code that a program loads by name, each with the source that its build makes it from."""
    named = [(found[1].decode(), found[2].decode()) for found in MODULE.finditer(text)]
    return [(folder / name, folder / f"{stem}.hip") for name, stem in named if (folder / f"{stem}.hip").is_file()]


def headers_of(sources: list[Path], common: list[Path]) -> bytes:
    """The collection's own headers that these sources include: a helper may be what needs a library."""
    named = {include.name for path in sources for include in includes_of(path.read_bytes())}
    places = [folder / name for folder in (sources[0].parent, *common) for name in named]
    return b"".join(path.read_bytes() for path in places if path.is_file())


def arguments_of(name: str, given: dict[str, Any]) -> list[str]:
    """The arguments for a program, by the name of its file or folder; the first run's, where there are several."""
    row = given.get(Path(name).stem, {})
    return [str(word) for word in (row.get("runs") or [row])[0].get("args", ())]


def programs(work: Path, outcomes: list[dict[str, str]]) -> list[tuple[str, list[Path]]]:
    """The programs that check themselves and whose units all compile, by name, with their sources."""
    folders: dict[Path, list[tuple[Path, bool]]] = collections.defaultdict(list)
    for row in outcomes:
        source = work / re.sub(r"\.cu$", ".hip", row["unit"])
        folders[source.parent].append((source, row["status"] == "passes"))
    found: list[tuple[str, list[Path]]] = []
    for folder, units in folders.items():
        alone = [one for one in units if MAIN.search(one[0].read_bytes())]
        groups = [[one] for one in alone] if len(alone) > 1 else [units] if alone else []
        for group in groups:
            text = "".join(source.read_text(errors="replace") for source, _ in group)
            if all(passes for _, passes in group) and any(
                GOOD.search(one) or DIFFERS.search(one) for one in LITERAL.findall(text)
            ):
                name = group[0][0] if len(groups) > 1 else folder
                own = [source for source, _ in group]
                beside = _plain(folder, own) if len(groups) == 1 else []
                found.append((name.relative_to(work).as_posix(), [*own, *beside]))
    return sorted(found)


def _plain(folder: Path, units: list[Path]) -> list[Path]:
    """The C and C++ files beside them that call no CUDA and so are no units: references on the CPU, for instance."""
    return [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in (".c", ".cpp") and path not in units and not MAIN.search(path.read_bytes())
    ]


if __name__ == "__main__":
    sys.exit(main())
