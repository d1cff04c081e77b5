"""A warp collective of cub without a width

What: cub::WarpReduce<T>, WarpScan<T>, WarpExchange, WarpMergeSort without a logical width.
Why: hipCUB's default is the hardware's wave: two warps share one TempStorage and one result.
Fix: the width 32, cub's own default.
Source: catalogue row 21; lukasHoel/3DGS-LM pull 15.
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
