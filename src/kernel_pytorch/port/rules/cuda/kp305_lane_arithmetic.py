"""Lane and warp numbers made with warpSize

What: warpSize in the arithmetic of lanes, warps, strides and bounds; cub::LaneId and cub::WarpId.
Why: CUDA's warpSize is 32 on every device, HIP's is 64 on CDNA. Launches, buffers and masks that count in 32s beside
  it no longer fit.
Fix: 32, which is what it means in CUDA. Where the host takes the width from the device, the program follows it by
  design: warpSize stays, and a place that counts in 32s beside it is reported.
Source: catalogue row 6; facts on lane masks: keep 32-lane logical warps.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP305",
    "lane-arithmetic",
    languages=("cuda",),
    safety=Safety.SAFE,
    triggers=(b"warpSize", b"LaneId", b"WarpId", b"threadIdx"),
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Lane and warp numbers made with warpSize."""
    yield from wave_findings(src, unit, RULE)
