"""__match_any_sync and __match_all_sync

What: the match intrinsics.
Why: masks are 64-bit on HIP, and lanes of both halves of a wave match each other.
Fix: the result is cut to the caller's 32-lane half; __match_all_sync is asked of that half alone.
Source: catalogue row 19; rocm.docs.amd.com HIP C++ language extensions; hip/amd_detail/amd_warp_sync_functions.h of
  ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP317", "match-any-all", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__match_",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """__match_any_sync and __match_all_sync."""
    yield from wave_findings(src, unit, RULE)
