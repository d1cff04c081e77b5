"""The table of fitted coefficients (data/expected_times.csv, written by benchmarks/fit_times.py), by GPU and kind."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.perf.expected.formulas import Rates
from kernel_pytorch.perf.roofline.forms import Convolved
from kernel_pytorch.perf.roofline.work import Work

TABLE = Path(__file__).with_name("data") / "expected_times.csv"
COLUMNS = ("gpu", "kind", "arithmetic", "coefficients", "low", "high", "rows", "models", "source")
TUNED_GEMM = "tuned gemm"
# Of GPUs that cannot convert fp4, and of those that can: instructions that load a weight of 4 bits and make one of 16
# out of it and its scale, without those of the matrix units; whether the loop waits for its loads where the steps along
# K do not divide it. From the machine code of Triton's products of experts (benchmarks/expert_loops.py).
CONVERTED = {False: (5.8, True), True: (1.8, False)}
# From one instruction of a lane to its next: a SIMD of CDNA takes four cycles for its 64 lanes, a quarter of an NVIDIA
# SM one for its 32, where a lane's elements do not wait for each other.
CYCLES = {"amd": 4, "nvidia": 1}


@dataclass(frozen=True)
class Fitted:
    """One row: four of five measurements lie between `low` and `high` times what the formula gives."""

    gpu: str
    kind: str
    arithmetic: str
    use: Mapping[str, float] = field(hash=False)
    low: float
    high: float
    rows: int
    models: int
    source: str


Table = Mapping[tuple[str, str, str], Fitted]  # by GPU alias, kind, and arithmetic or ""


@cache
def fitted() -> Table:
    """The table that the package comes with."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [_row(entry) for entry in csv.DictReader(file)]
    return {(row.gpu, row.kind, row.arithmetic): row for row in rows}


def _row(entry: dict[str, str]) -> Fitted:
    pairs = (text.split("=") for text in entry["coefficients"].split())
    return Fitted(
        entry["gpu"], entry["kind"], entry["arithmetic"],
        use={name: float(value) for name, value in pairs}, low=float(entry["low"]), high=float(entry["high"]),
        rows=int(entry["rows"]), models=int(entry["models"]), source=entry["source"],
    )  # fmt: skip


def rates_of(gpu: GPU, work: Work) -> Rates:
    """The peak rates that this work's coefficients are shares of.

    torch lets cuDNN round the inputs of a convolution in fp32 to TF32, unless it is told not to; MIOpen does not.
    """
    peak = gpu.peak_tflops(work.arithmetic, matrix=work.matrix) or gpu.peak_tflops("fp32", matrix=False) or 1.0
    # A multiply-add is two FLOPs, and the peak of both vendors has two of them in the time of one integer instruction.
    steps = (gpu.peak_tflops("fp32", matrix=False) or peak) * 1e6 / 4
    if isinstance(work.form, Convolved) and work.arithmetic == "fp32" and gpu.vendor == "nvidia":
        peak = gpu.peak_tflops("tf32") or peak
    convert, waits = CONVERTED[bool(gpu.peak_tflops("fp4"))] if gpu.vendor == "amd" else (0.0, False)
    return Rates(
        gpu.bandwidth_gbs * 1e3, peak * 1e6, gpu.compute_units, steps, gpu.l2_mib * 2**20, gpu.links_gbs * 1e3,
        convert, waits, 512 // gpu.target.wave_size, CYCLES[gpu.vendor], gpu.link_peers,
    )  # fmt: skip
