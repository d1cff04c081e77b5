"""A shuffle without a width

What: __shfl and its relatives without a width: reduction loops from 16 down, scans, broadcasts from lane 0.
Why: The default width is the wave. On 64 lanes, lanes 16-31 read the upper half, a scan runs across the 32-lane line,
    and a broadcast from lane 0 reaches the wrong warp.
Fix: kpt adds width 32, so that each half of a 64-lane wave is one CUDA warp. Code that follows the device's width
    keeps the default. `--wave native` lets block reductions use whole waves where kpt proves that this is allowed.
Source: hip/amd_detail/amd_warp_functions.h, ROCm 7.2; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP310", "shuffle-without-width", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__shfl", b"threadIdx")
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A shuffle without a width."""
    yield from wave_findings(src, unit, RULE)
