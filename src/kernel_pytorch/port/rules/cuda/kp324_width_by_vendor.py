"""64 lanes because it is AMD

What: A warp size of 64 chosen by a ROCm or HIP macro, or is_rocm ? 64 : 32.
Why: RDNA (gfx10, gfx11, gfx12) and gfx1250 have 32-lane waves under HIP, and host code is compiled once for all
    targets.
Fix: Ask the device (hipDeviceProp_t.warpSize), or keep 32-lane warps.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html;
    https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/csrc/common.cuh
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP324", "width-by-vendor", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"64",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """64 lanes because it is AMD."""
    yield from wave_findings(src, unit, RULE)
