#!/usr/bin/env python3
"""Public tensor-core kernels, ported without a hand edit: built for four targets, emulated, compared with NumPy.

    python benchmarks/tensor_core_kernels.py --sources checkouts            port, build and emulate; a table
    python benchmarks/tensor_core_kernels.py --sources checkouts --gpu none -D KPT_MMA_SHARE   only build, with a macro
    python benchmarks/tensor_core_kernels.py --sources checkouts --stage d  only copy what the kernels need to d
    python benchmarks/tensor_core_kernels.py --staged d --nvidia --results r   the originals, on an NVIDIA GPU

`checkouts` has a folder for each repository, named as on GitHub without the owner: cuda-samples, cuda_hgemm,
learn-cuda, matmul-playground, marlin, bitsandbytes, DeepSpeed, Tensor-FFT, SageAttention, Flash-Attention-PTX-CUDA,
mma-matmul, AccSpMM, ConvStencil, LeetCUDA, ffpa-attn.
--nvidia builds the kernels as they are with the same drivers and inputs; with --results of an earlier run, the table
compares the port with the original too.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from tensor_core_cases import CASES, Array, Case, read_result

DRIVERS = Path(__file__).resolve().parent / "tensor_core_kernels"
# Findings that say that a kernel does not compute on AMD what it computes on NVIDIA. Others are about host code.
STOPS = ("KP220", "KP230", "KP231", "KP232", "KP233", "KP234", "KP235")
TARGETS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


@dataclass(frozen=True)
class Outcome:
    """One kernel. `spills` are bytes of memory for registers by target; `difference` is from NumPy, by emulated GPU."""

    case: str
    repository: str
    uses: str
    left: tuple[str, ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
    spills: tuple[tuple[str, int], ...] = ()
    instructions: tuple[tuple[str, int], ...] = ()
    difference: tuple[tuple[str, float], ...] = ()
    from_original: tuple[tuple[str, float], ...] = ()
    original: str = ""
    error: str = ""

    @property
    def is_good(self) -> bool:
        return not self.error and not self.left


def slug(case: Case) -> str:
    return re.sub(r"\W+", "_", f"{case.repository.rpartition('/')[2]}_{case.name}")


def stage(case: Case, sources: Path, folder: Path) -> None:
    """Copies a kernel's files and its driver into one folder, with the sizes of the small run."""
    root = sources / case.repository.rpartition("/")[2]
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in case.files:
        found = [path for path in sorted(root.glob(pattern)) if path.is_file()]
        if not found:
            raise SystemExit(f"{root / pattern} is not there: check out {case.repository} as {root}")
        for path in found:
            shutil.copy(path, folder / path.name)
    for name in ("driver.h", case.driver):
        shutil.copy(DRIVERS / name, folder / name)
    for path in (*folder.glob("*.cu"), *folder.glob("*.cuh"), *folder.glob("*.h")):
        # All files lie in one folder here.
        text = re.sub(r'^(#include ")(?:\.\./)+(?:\w+/)*', r"\g<1>", path.read_text(), flags=re.MULTILINE)
        for name, value in case.sizes:
            text = re.sub(rf"^(#define {name}\s+)\d+$", rf"\g<1>{value}", text, flags=re.MULTILINE)
        for pattern in case.cut:
            text = re.sub(pattern, "", text, flags=re.MULTILINE | re.DOTALL)
        path.write_text(text)


def inputs(case: Case) -> list[Array]:
    """The same on every machine."""
    return case.draw(np.random.default_rng(zlib.crc32(case.name.encode())))


def write_inputs(case: Case, path: Path) -> None:
    """What the driver reads. Arrays that only the model needs come last, and it does not read them."""
    path.write_bytes(b"".join(np.ascontiguousarray(one).tobytes() for one in inputs(case)))


def difference(case: Case, got: Array) -> float:
    """The largest difference from NumPy's result, as a part of its largest value."""
    exact = case.expected(*inputs(case)).ravel()
    if got.size != exact.size or not np.isfinite(got).all():
        return float("inf")
    return float(np.abs(got - exact).max() / np.abs(exact).max())


def on_nvidia(case: Case, staged: Path, results: Path) -> None:
    """Builds and runs the original; writes its result and what ptxas and NumPy say of it."""
    defines = [f"-D{one}" for one in case.defines]
    arch = f"-gencode=arch=compute_{case.capability},code=[sm_{case.capability},compute_{case.capability}]"
    name = slug(case)
    with tempfile.TemporaryDirectory() as scratch:
        program, data, out = Path(scratch) / "program", Path(scratch) / "in.bin", results / f"{name}.bin"
        build = [
            "nvcc", "-std=c++17", "-O3", "-w", "--expt-relaxed-constexpr", arch, "-Xptxas", "-v", *defines,
            f"-I{staged}", "-Xcompiler", f"-idirafter,{DRIVERS / 'without_cublas'}", "-o", str(program),
        ]  # fmt: skip
        built = subprocess.run([*build, str(staged / case.driver)], capture_output=True, text=True, check=False)
        write_inputs(case, data)
        record: dict[str, object] = {"error": "", "spill_bytes": spilled(built.stderr, case.kernel)}
        if built.returncode:
            record["error"] = f"nvcc: {(built.stdout + built.stderr)[-1500:]}"
        else:
            ran = subprocess.run([program, data, out], capture_output=True, text=True, check=False, timeout=120)
            record["error"] = "" if ran.returncode == 0 else f"exit {ran.returncode}: {ran.stderr[-500:]}"
            if ran.returncode == 0:
                record["difference"] = difference(case, read_result(out.read_bytes(), case.result))
    (results / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"{case.repository} {case.name}: {record}")


def spilled(log: str, kernel: str) -> int:
    """The bytes that ptxas says the kernel spills."""
    blocks = re.split(r"Compiling entry function", log)[1:]
    return max(
        (int(size) for block in blocks if re.search(kernel, block.splitlines()[0])
         for size in re.findall(r"(\d+) bytes spill stores", block)),
        default=-1,
    )  # fmt: skip


@dataclass(frozen=True)
class How:
    """The GPUs to emulate, and what the compiler is told besides."""

    gpus: tuple[str, ...]
    targets: tuple[str, ...] = TARGETS
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def instructions_of(assembly: str, symbol: str) -> int:
    """The machine instructions of a kernel."""
    start = assembly.index(f"\n{symbol}:")
    return len(re.findall(r"^\t[a-z]\w*_\w+", assembly[start : assembly.index("\n.Lfunc_end", start)], re.MULTILINE))


def is_in_unused_macro(staged: Path, path: str, line: int) -> bool:
    """Whether a line belongs to a #define that no file uses: nothing of it is compiled."""
    lines = (staged / Path(path).name).read_text().splitlines()
    first = line - 1
    while first and lines[first - 1].endswith("\\"):
        first -= 1
    named = re.match(r"\s*#\s*define\s+(\w+)", lines[first])
    texts = (one.read_text(errors="replace") for one in staged.iterdir() if one.is_file())
    return named is not None and sum(len(re.findall(rf"\b{named[1]}\b", text)) for text in texts) == 1


def ported(case: Case, staged: Path, work: Path, how: How, results: Path | None) -> Outcome:
    """Ports, builds for every target, emulates."""
    from kernel_pytorch.core.hardware import gpu_by_alias
    from kernel_pytorch.emulate.program import build_emulated
    from kernel_pytorch.emulate.run import RunSettings, run_program
    from kernel_pytorch.jobs.hipify import hipify_tree
    from kernel_pytorch.toolchain.code_object import read_code_object
    from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
    from kernel_pytorch.toolchain.find import find_toolchain
    from kernel_pytorch.toolchain.program import build_device_code

    outcome = Outcome(case.name, case.repository, case.uses)
    result = hipify_tree([staged], work / "hip", workers=1)
    left = tuple(
        f"{file.path}:{one.line}: {one.code} {one.message}" for file in result.files for one in file.left
        if one.code in STOPS and not is_in_unused_macro(staged, file.path, one.line)
    )  # fmt: skip
    outcome = replace(outcome, left=left)
    source = work / "hip" / Path(case.driver).with_suffix(".hip").name
    defines = tuple(one.replace(".cu", ".hip").replace("__nv_bfloat16", "__hip_bfloat16") for one in case.defines)
    options = CompileOptions(
        include_dirs=(work / "hip",), defines=(*defines, *how.defines), extra=("-w", *how.flags), timeout_s=600
    )
    toolchain = find_toolchain()
    registers, spills, counts, differences, from_original = [], [], [], [], []
    try:
        for target in how.targets:
            built = build_device_code(source, target, toolchain, options)
            kernels = [one for one in read_code_object(built.code_object).kernels if re.search(case.kernel, one.symbol)]
            registers.append((target, max(one.vgprs for one in kernels)))
            spills.append((target, max(one.scratch_bytes for one in kernels)))
            counts.append((target, max(instructions_of(built.assembly, one.symbol) for one in kernels)))
        write_inputs(case, work / "in.bin")
        for name in how.gpus:
            gpu = gpu_by_alias(name)
            build_emulated([source], gpu.target.name, toolchain, work / "program", options)
            settings = RunSettings(timeout_s=600, watchdog_s=120, memory_gb=4)
            ran = run_program(work / "program", [str(work / "in.bin"), str(work / "out.bin")], gpu, settings)
            if not ran.ok:
                raise RuntimeError(f"{name}: exit {ran.exit_code}: {ran.stderr[-400:]}")
            got = read_result((work / "out.bin").read_bytes(), case.result)
            differences.append((name, difference(case, got)))
            if results and (results / f"{slug(case)}.bin").is_file():
                original = read_result((results / f"{slug(case)}.bin").read_bytes(), case.result)
                from_original.append((name, float(np.abs(got - original).max() / np.abs(original).max())))
    except (CompileFailed, RuntimeError, ValueError) as failure:
        outcome = replace(outcome, error=str(failure)[:2000])
    wrong = [f"{name}: {size:.2g} from NumPy" for name, size in differences if not size <= case.tolerance]
    return replace(
        outcome, registers=tuple(registers), spills=tuple(spills), instructions=tuple(counts),
        difference=tuple(differences),
        from_original=tuple(from_original), error=outcome.error or "; ".join(wrong),
        original=original_of(case, results),
    )  # fmt: skip


def original_of(case: Case, results: Path | None) -> str:
    """What an earlier --nvidia run recorded, in words."""
    path = results / f"{slug(case)}.json" if results else None
    if path is None or not path.is_file():
        return "not run"
    record = json.loads(path.read_text())
    compared = f"{record['difference']:.1e}" if "difference" in record else "not run"
    return f"{compared}, {record['spill_bytes']} bytes"


def table(outcomes: list[Outcome]) -> str:
    """Markdown."""
    lines = [
        f"| kernel | repository | uses | {' | '.join(TARGETS)} | from NumPy | original |",
        f"|---|---|---|{'---|' * len(TARGETS)}---|---|",
    ]
    for one in outcomes:
        spills, counts = dict(one.spills), dict(one.instructions)
        # Without a run, what the compiler made is what one wants to know.
        more = {target: "" if one.difference else f", {count} instructions" for target, count in counts.items()}
        built = dict(one.registers)
        registers = [
            f"{built[target]} ({spills[target]}){more[target]}" if target in built else "not built"
            for target in TARGETS
        ]
        shown = ", ".join(f"{size:.1e}" for _, size in one.difference)
        note = one.error.splitlines()[0][:80] if one.error else shown
        cells = [one.case, one.repository, one.uses, *registers, note, one.original]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, help="checkouts of the repositories")
    parser.add_argument("--staged", type=Path, help="what --stage wrote, instead of --sources")
    parser.add_argument("--stage", type=Path, help="copy the kernels' files and their drivers there, and stop")
    parser.add_argument("--nvidia", action="store_true", help="run the originals with nvcc on this machine's GPU")
    parser.add_argument("--results", type=Path, help="results of the originals: written with --nvidia, else compared")
    parser.add_argument("--gpu", default="mi300x,rx7900xtx", help="GPUs to emulate, separated by commas, or none")
    parser.add_argument("--arch", default=",".join(TARGETS), help="targets to build for, separated by commas, or none")
    parser.add_argument("-D", dest="defines", action="append", default=[], help="a macro, such as KPT_MMA_SHARE")
    parser.add_argument("--flag", action="append", default=[], help="one more word for the compiler, as --flag=-mllvm")
    parser.add_argument("--match", default="", help="only cases whose repository or name matches")
    parser.add_argument("--work", type=Path, help="keep the ports there")
    parser.add_argument("--json", type=Path, help="write all outcomes there")
    args = parser.parse_args()
    if not (args.sources or args.staged):
        parser.error("--sources or --staged is needed")
    cases = [one for one in CASES if re.search(args.match, f"{one.repository} {one.name}")]
    with tempfile.TemporaryDirectory(prefix="kpt-tensor-") as scratch:
        staged = args.staged or args.stage or Path(scratch) / "staged"
        if args.sources:
            for case in cases:
                stage(case, args.sources, staged / slug(case))
        if args.stage:
            return 0
        if args.nvidia:
            results = args.results or Path("tensor-core-originals")
            results.mkdir(parents=True, exist_ok=True)
            for case in cases:
                on_nvidia(case, staged / slug(case), results)
            return 0
        gpus = () if args.gpu == "none" else tuple(args.gpu.split(","))
        targets = () if args.arch == "none" else tuple(args.arch.split(","))
        how = How(gpus, targets, tuple(args.defines), tuple(args.flag))
        outcomes = []
        for case in cases:
            work = (args.work or Path(scratch)) / slug(case)
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            outcomes.append(ported(case, staged / slug(case), work, how, args.results))
            one = outcomes[-1]
            print(
                f"{'good' if one.is_good else 'BAD '} {one.repository} {one.case}",
                *one.left,
                one.error,
                sep="\n  ",
                file=sys.stderr,
            )
    print(table(outcomes))
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    return 0 if all(one.is_good for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
