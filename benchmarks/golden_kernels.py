#!/usr/bin/env python3
"""HeCBench programs on an NVIDIA GPU and their ports on the emulator, compared kernel by kernel; then with a fault.

    python benchmarks/golden_kernels.py record HECBENCH GOLDEN     on the machine with the NVIDIA GPU and nvcc
    python benchmarks/golden_kernels.py check HECBENCH GOLDEN      anywhere: ports, emulated at wave 64

The faults are those of a port left half done: sums that a wave of 32 makes, made by one of 64. Each must be found, and
in the kernel that has it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.port.builds.hipified_tree import hipified_tree
from kernel_pytorch.verify.kernels.compare import KernelComparison, compare_records
from kernel_pytorch.verify.kernels.record import KernelArchive
from kernel_pytorch.verify.kernels.run import ProgramRun, record_program

OWN = Path(__file__).parent.parent / "examples/fused_norm/csrc/selfcheck.cu"
# Program: its source, folders of headers, and words that make it small.
PROGRAMS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "layernorm": ("layernorm-cuda/main.cu", ("rmsnorm-cuda",), ("4", "32", "128", "1")),
    "rowwiseMoments": ("rowwiseMoments-cuda/main.cu", (), ("4", "8", "32", "32", "4", "1")),
    "heat": ("heat-cuda/heat.cu", (), ("64", "8")),
    "wedford": ("wedford-cuda/main.cu", (), ("2", "64", "32", "1")),
    "selfcheck": (str(OWN), (), ()),
}
# In the translated layernorm: the butterfly of 32 lanes becomes one of the hardware's 64.
HALF_PORTED = (
    ("int offset = THREADS_PER_WARP >> 1", "int offset = 64 >> 1"),
    ("__shfl_xor(val, offset, 32)", "__shfl_xor(val, offset)"),
)


def main() -> int:
    """Record or check every program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("path", type=Path, help="a checkout of HeCBench")
    parser.add_argument("golden", type=Path)
    args = parser.parse_args()
    sources = args.path / "src"
    if args.what == "record":
        for name in PROGRAMS:
            record(name, sources, args.golden / name)
        return 0
    wrong = 0
    for name in PROGRAMS:
        run = ported(name, sources)
        result = compared(run, args.golden / name)
        wrong += not result.ok
        print(f"{name:16} {described(result)}", flush=True)
    untouched = compared(replace(ported("selfcheck", sources), untranslated=True), args.golden / "selfcheck")
    with tempfile.TemporaryDirectory(prefix="kpt-half-ported-") as scratch:
        half = half_ported("layernorm", sources, Path(scratch))
        faulty = compared(half, args.golden / "layernorm")
    for name, result, kernel in (
        ("selfcheck, unported", untouched, "count_non_finite"),
        ("layernorm, half", faulty, "layernorm_forward_kernel0<4>"),
    ):
        first = result.first_fault
        found = first is not None and first.kernel == kernel
        wrong += not found
        print(f"{name:20} {'named' if found else 'NOT NAMED'}: {described(result)}", flush=True)
    return 1 if wrong else 0


def record(name: str, sources: Path, golden: Path) -> None:
    """Build with nvcc and record on this machine's GPU."""
    source, headers, words = PROGRAMS[name]
    with tempfile.TemporaryDirectory(prefix="kpt-golden-") as scratch:
        program = Path(scratch) / name
        include = [f"-I{sources / folder}" for folder in headers]
        flags = ["-cudart", "shared", "-std=c++17", "-O3", "-arch=native", *include]
        subprocess.run(["nvcc", *flags, "-o", str(program), str(sources / source)], check=True)
        made = record_program(ProgramRun(program, words, repeats=3), golden)
    noise = max(state.noise for launch in made.launches for state in launch.buffers)
    print(f"{name:16} {made.machine['device_name']}: {len(made.launches)} launches, noise {noise:.2g}", flush=True)


def ported(name: str, sources: Path) -> ProgramRun:
    """The port of a program, on an emulated GPU of wave 64."""
    source, headers, words = PROGRAMS[name]
    folders = tuple(sources / folder for folder in headers)
    return ProgramRun(sources / source, words, gpu_by_alias("mi300x"), include_dirs=folders)


def half_ported(name: str, sources: Path, folder: Path) -> ProgramRun:
    """The translated sources with the fault in them."""
    run = ported(name, sources)
    with hipified_tree(run.program, run.include_dirs) as tree:
        shutil.copytree(tree.main.parent.parent, folder, dirs_exist_ok=True)
        main_file = folder / tree.main.relative_to(tree.main.parent.parent).with_suffix(".hip")
    changed = 0
    for path in [one for one in folder.rglob("*") if one.is_file()]:
        text = path.read_text(errors="surrogateescape")
        for old, new in HALF_PORTED:
            changed += text.count(old)
            text = text.replace(old, new)
        path.write_text(text, errors="surrogateescape")
    if not changed:
        raise SystemExit(f"{name}: the fault found no place to be planted")
    headers = tuple(folder / one for one in PROGRAMS[name][1])
    return replace(run, program=main_file, include_dirs=headers)


def compared(run: ProgramRun, golden: Path) -> KernelComparison:
    """One run on the emulator against its record."""
    with tempfile.TemporaryDirectory(prefix="kpt-golden-") as scratch:
        record_program(run, Path(scratch))
        return compare_records(KernelArchive(golden), KernelArchive(Path(scratch)))


def described(result: KernelComparison) -> str:
    """The verdict in a line."""
    written = [one for launch in result.launches for one in launch.buffers if one.when == "after"]
    exact = f"{sum(one.equal for one in written)} of {sum(one.elements for one in written)} bit for bit"
    first = result.first_fault
    if first is None:
        return f"{'same' if result.ok else 'not compared'}: {len(result.launches)} launches, {exact}"
    wrong = [one for one in first.buffers if not one.ok]
    how = "; ".join(f"{one.kind}: {one.text}" for one in wrong[:2]) or first.text
    return f"{first.kernel} (launch {first.number}) {first.status}: {how}"


if __name__ == "__main__":
    sys.exit(main())
