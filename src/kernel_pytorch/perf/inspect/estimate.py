"""Work and expected time of each step: bytes and FLOPs against what the GPU of the hardware table can do.

`best` is the roofline: nothing can be faster out of memory. `expected` is what kernels usually reach of it, plus the
time a launch takes on the device. The shares below are round figures of ours, not measurements of the GPU at hand;
docs/inspect.md says how far off they were on the one GPU where they could be held against measurements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.core.hardware import GPU

# What well-made kernels reach of the peak, where the table has no published ceiling for the arithmetic.
MEMORY_SHARE = 0.80
MATRIX_SHARE = 0.60
VECTOR_SHARE = 0.50
# A kernel that does next to nothing takes about this long on the device: 0.9 to 1.4 us on an H200.
START_US = 1.0

_OPERATION = re.compile(r"^\s+tmp\d+ = (.*)$", re.MULTILINE)
_NO_WORK = ("tl.load", "tl.broadcast_to", "tl.full", "tl.where", "tl.reshape")
_CAST = re.compile(r"^\(?tmp\d+\)?\.to\(")


@dataclass(frozen=True)
class Time:
    """Microseconds. `limiter` is "memory", "compute" or "launch" (the start of a kernel takes longer than its work)."""

    best_us: float
    expected_us: float
    limiter: str


def generated_flops(source: str, space: int) -> int:
    """Operations of a generated kernel: those written in its source, once per point of its iteration space.

    A transcendental function counts once. It is a floor, and small beside the bytes in all but odd kernels.
    """
    written = [found.strip() for found in _OPERATION.findall(source)]
    working = [text for text in written if not text.startswith(_NO_WORK) and not _CAST.match(text)]
    return len(working) * space


def step_time(gpu: GPU, flops: int | None, moved: int | None, arithmetic: str, matrix: bool) -> Time | None:
    """The time of one launch; None where neither bytes nor FLOPs are known."""
    if flops is None and moved is None:
        return None
    peak = _peak(gpu, arithmetic, matrix)
    compute = (flops or 0) / (peak * 1e6) if peak else 0.0
    memory = (moved or 0) / (gpu.bandwidth_gbs * 1e3)
    best = max(compute, memory)
    share = _share(gpu, arithmetic, matrix, peak)
    real = max(compute / share, memory / MEMORY_SHARE)
    limiter = "launch" if real < START_US else ("compute" if compute / share >= memory / MEMORY_SHARE else "memory")
    return Time(best, START_US + real, limiter)


def _peak(gpu: GPU, arithmetic: str, matrix: bool) -> float | None:
    found = gpu.peak_tflops(arithmetic, matrix=matrix)
    return found if found is not None else gpu.peak_tflops("fp32", matrix=False)


def _share(gpu: GPU, arithmetic: str, matrix: bool, peak: float | None) -> float:
    if not matrix:
        return VECTOR_SHARE
    ceiling = gpu.achievable.get(arithmetic)
    return ceiling / peak if ceiling and peak else MATRIX_SHARE
