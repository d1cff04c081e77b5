"""64 lanes because it is AMD

What: a warp size of 64 chosen by a ROCm or HIP macro, or is_rocm ? 64 : 32.
Why: RDNA (gfx10, 11, 12) and gfx1250 have 32-lane waves under HIP, and host code is compiled once for all targets.
Fix: for a person: ask the device (hipDeviceProp_t.warpSize), or keep 32-lane warps.
Source: catalogue row 11; rocm.docs.amd.com HIP C++ language extensions.
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
