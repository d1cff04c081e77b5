"""A warp collective of cub without a width

What: cub::WarpReduce<T>, WarpScan<T>, WarpExchange, WarpMergeSort without a logical width.
Why: hipCUB's default is the hardware's wave, so two warps share one TempStorage and one result.
Fix: The width 32, cub's own default.
Source: https://github.com/lukasHoel/3DGS-LM/pull/15; hipcub/backend/rocprim/warp/warp_reduce.hpp, ROCm 7.2
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP319", "cub-warp-width", languages=("cuda",), safety=Safety.SAFE, triggers=(b"cub::Warp",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A warp collective of cub without a width."""
    yield from wave_findings(src, unit, RULE)
