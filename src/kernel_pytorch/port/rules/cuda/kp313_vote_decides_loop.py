"""A loop that a warp vote decides

What: while (__any_sync(...)) and loops that end on a vote.
Why: The warps of a 64-lane wave leave at different times. A full mask then names lanes that are gone, which traps, and
    a vote of the whole wave keeps a finished warp waiting.
Fix: kpt writes a vote of the caller's 32-lane half, without a mask. Lanes that have left the loop do not count.
Source: hip/amd_detail/amd_warp_sync_functions.h, ROCm 7.2;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP313", "vote-decides-loop", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__any", b"__all"))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A loop that a warp vote decides."""
    yield from wave_findings(src, unit, RULE)
