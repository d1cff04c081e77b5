"""__syncwarp with a mask

What: A __syncwarp with a 32-bit mask.
Why: HIP's mask is 64-bit, and it traps when it is not the set of live lanes.
Fix: No mask. A barrier and fence of the wave holds every 32-lane warp in it. A __syncwarp without a mask stays as it
    is.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html;
    hip/amd_detail/amd_warp_sync_functions.h, ROCm 7.2;
    https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/csrc/compat.cuh
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
