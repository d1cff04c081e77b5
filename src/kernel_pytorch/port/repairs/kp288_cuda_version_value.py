"""CUDA's version as a number

What: `return CUDART_VERSION;`, or another use of CUDART_VERSION or CUDA_VERSION outside a preprocessor condition.
Why: HIP defines neither.
Fix: kpt writes `(HIP_VERSION_MAJOR * 1000 + HIP_VERSION_MINOR * 10)` on ROCm: HIP's version in the form of CUDA's
    numbers.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html (HIP_VERSION)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.presented_version import SHOWN_VERSION
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP288",
    "cuda-version-value",
    re.compile(r"use of undeclared identifier '(CUDART_VERSION|CUDA_VERSION|TORCH_HIP_VERSION|HIPRT_VERSION)'"),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """Each use on the line."""
    src = place.src
    start, end = place.line
    indexes = (index for name in (b"CUDART_VERSION", b"CUDA_VERSION") for index in words(src).get(name, ()))
    tokens = (src.code[index] for index in sorted(indexes))
    return tuple(Edit(Span(one.start, one.end), SHOWN_VERSION) for one in tokens if start <= one.start < end)
