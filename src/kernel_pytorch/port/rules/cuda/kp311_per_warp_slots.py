"""Per-warp slots in shared memory numbered with warpSize

What: a shared array with one entry per warp whose index or count is made with warpSize.
Why: there are half as many 64-lane waves, and the final stage reads slots that nobody wrote.
Fix: 32, so that a slot is a 32-lane warp's on every target.
Source: catalogue row 13.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP311", "per-warp-slots", languages=("cuda",), safety=Safety.SAFE, triggers=(b"warpSize",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Per-warp slots in shared memory numbered with warpSize."""
    yield from wave_findings(src, unit, RULE)
