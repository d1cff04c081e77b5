"""__syncwarp with a mask

What: a __syncwarp with a 32-bit mask.
Why: HIP's mask is 64-bit, and traps when it is not the set of live lanes.
Fix: no mask: a barrier and fence of the wave holds every 32-lane warp in it. A __syncwarp without a mask is left as
  it is.
Source: catalogue row 18; rocm.docs.amd.com HIP C++ language extensions; hip/amd_detail/amd_warp_sync_functions.h of
  ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP316", "syncwarp-mask", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__syncwarp",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """__syncwarp with a mask."""
    yield from wave_findings(src, unit, RULE)
