"""__popc, __ffs, __clz or __brev of a lane mask

What: A bit count or bit search of a ballot, or of a cooperative group's ballot, also through a variable.
Why: A ballot has 64 bits on HIP, and these functions look at the lower 32. On a group's ballot the overload is
    ambiguous.
Fix: kpt cuts the ballot to the caller's 32-lane half, so the 32-bit form is right again, and casts a tile's ballot.
    Code that follows the device's width gets the 64-bit form. A __popc of ordinary data stays.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html;
    hip/amd_detail/amd_warp_sync_functions.h, ROCm 7.2; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP302",
    "mask-reader",
    languages=("cuda",),
    safety=Safety.SAFE,
    triggers=(b"__popc", b"__ffs", b"__clz", b"__brev", b"__builtin_"),
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """__popc, __ffs, __clz or __brev of a lane mask."""
    yield from wave_findings(src, unit, RULE)
