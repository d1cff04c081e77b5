"""Registers and spills of a kernel for NVIDIA, from the ptxas that comes with Triton."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child
from kernel_pytorch.perf.inspect.view import Resources

_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_TARGET = re.compile(r"^\.target\s+(\S+)", re.MULTILINE)


def ptxas_resources(ptx: str, gpu: GPU, threads: int, shared: int) -> Resources:
    """What ptxas says about the kernel with -v. Raises RuntimeError with its words where it refuses."""
    import triton

    found = _TARGET.search(ptx)
    architecture = found.group(1).rstrip(",") if found else gpu.target.name
    words = "Triton's wheel has no ptxas"
    # The wheel carries two, of different CUDA versions; which one takes this text depends on Triton's version.
    for ptxas in sorted((Path(triton.__file__).parent / "backends" / "nvidia" / "bin").glob("ptxas*")):
        with tempfile.TemporaryDirectory(prefix="kpt-ptx-") as folder:
            source = Path(folder) / "kernel.ptx"
            source.write_text(ptx, encoding="utf-8")
            output = source.with_suffix(".cubin")
            command = [str(ptxas), "-v", f"--gpu-name={architecture}", str(source), "-o", str(output)]
            done = run_child(command, timeout_s=120)
        if done.returncode == 0:
            return parse_report(done.stderr + done.stdout, gpu, threads, shared)
        words = done.stderr.strip()
    raise RuntimeError(f"ptxas: {words[:400]}")


def parse_report(text: str, gpu: GPU, threads: int, shared: int) -> Resources:
    """Registers, spill bytes and occupancy from ptxas's report. Spills are in registers of four bytes."""
    registers = _REGISTERS.search(text)
    if registers is None:
        raise RuntimeError(f"ptxas said nothing about registers: {text.strip()[:200]}")
    used = int(registers.group(1))
    spills = _SPILLS.search(text)
    stack, stores = (int(spills.group(1)), int(spills.group(2))) if spills else (0, 0)
    target = gpu.target
    step = target.vgpr_granule
    by_registers = target.vgprs_per_simd // max(-(-used // step) * step, step)
    groups = target.lds_bytes_per_cu // shared if shared else target.barriers_per_cu
    waves = -(-threads // target.wave_size)
    by_shared = groups * waves // target.simds_per_cu if shared else target.max_waves_per_simd
    reached = min(by_registers, by_shared, target.max_waves_per_simd)
    limiter = "wave slots"
    if reached < target.max_waves_per_simd:
        limiter = "registers" if by_registers <= by_shared else "shared memory"
    return Resources(
        used,
        None,
        sgprs=None,
        spills=stores // 4,
        sgpr_spills=None,
        scratch_bytes=stack,
        lds_bytes=shared,
        threads=threads,
        waves_per_simd=reached,
        max_waves_per_simd=target.max_waves_per_simd,
        limiter=limiter,
    )
