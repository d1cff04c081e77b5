#!/usr/bin/env python3
"""The self-checking programs of a collection of CUDA samples, translated and run on an emulated GPU.

    python benchmarks/cuda_samples.py cuda-samples --include Common --work translated --json units.json
    python benchmarks/cuda_samples_emulate.py translated units.json --include Common --gpu mi300x

A program is a .cu file with a main(), or all units of a folder where one of them has it. Programs whose units all
compile are built and run without arguments in their own folder, within a limit of CPU seconds. One passes when it ends
with 0, never says that it failed, and says that it passed where it has words for that.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cuda_samples import options_of
from hecbench_emulate import GOOD, LITERAL, link_error, verdict

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.toolchain.compile import CompileFailed
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.other_passes import compile_c

MAIN = re.compile(rb"^\s*(?:int|void)?\s*main\s*\(", re.MULTILINE)
WAIVED = 2
DIFFERS = re.compile(r"do(?:es)? not match|not equal|don't match", re.IGNORECASE)
LIBRARY = re.compile(rb"#\s*include\s*[<\"](hip(?:blas|blaslt|fft|rand|solver|sparse|rtc))[/.]")


@dataclass(frozen=True)
class Ran:
    """One program on one GPU."""

    program: str
    status: str
    detail: str = ""


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
    parser.add_argument("--json", type=Path, help="write all outcomes here")
    args = parser.parse_args()
    work = args.work.resolve()
    common = [work / name for name in args.include]
    gpu, toolchain = gpu_by_alias(args.gpu), find_toolchain()

    def run(program: tuple[str, list[Path]]) -> Ran:
        name, sources = program
        with tempfile.TemporaryDirectory(prefix="kpt-samples-") as scratch:
            executable = Path(scratch) / "program"
            objects = []
            text = b"".join(path.read_bytes() for path in sources)
            libraries = sorted({found.decode() for found in LIBRARY.findall(text)})
            try:
                options = options_of(sources[0], common)
                for source in (path for path in sources if path.suffix == ".c"):
                    objects.append(Path(scratch) / f"{source.stem}.o")
                    objects[-1].write_bytes(compile_c(source, toolchain, options))
                compiled = [path for path in sources if path.suffix != ".c"]
                link = [*map(str, objects), "-lpthread"]
                build_emulated(compiled, gpu.target.name, toolchain, executable, options, libraries, link=link)
            except (CompileFailed, ValueError, RuntimeError) as failure:
                reason = link_error(failure) if isinstance(failure, CompileFailed) else ""
                return Ran(name, "build", reason or (str(failure).splitlines() or ["no reason given"])[0])
            settings = RunSettings(cpu_s=args.cpu, timeout_s=10 * args.cpu, watchdog_s=10 * args.cpu, memory_gb=4)
            ran = run_program(executable, [], gpu, settings, directory=sources[0].parent)
            status, detail = verdict(ran, args.cpu)
            if ran.exit_code == WAIVED and status == "fail":
                status = "waived"  # NVIDIA's samples: a second GPU, or a feature that this one has not
            differs = next((line for line in ran.stdout.splitlines() if DIFFERS.search(line)), "")
            if differs and status in ("pass", "no-check"):
                return Ran(name, "fail", differs)
            says_passed = any(GOOD.search(one) for one in LITERAL.findall(text.decode(errors="replace")))
            return Ran(name, "pass" if status == "no-check" and not says_passed else status, detail)

    chosen = [one for one in programs(work, json.loads(args.units.read_text())) if re.search(args.match, one[0])]
    outcomes = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(run, chosen[:: args.every]):
            outcomes.append(outcome)
            print(f"{len(outcomes):4} {outcome.status} {outcome.program} {outcome.detail[:100]}", file=sys.stderr)
    count = collections.Counter(one.status for one in outcomes)
    print(
        f"{args.gpu}: {len(outcomes)} programs: " + ", ".join(f"{status} {count[status]}" for status in sorted(count))
    )
    for one in outcomes:
        if one.status != "pass":
            print(f"  {one.status}: {one.program}: {one.detail[:200]}")
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    return 0


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
