"""32-wide rows under collectives of the hardware's width

What: a launch with dim3(32, n) of a kernel whose shuffles or votes follow warpSize.
Why: two rows share one 64-lane wave: sums and leaders of both are mixed.
Fix: for a person: rows of warpSize threads, or collectives of width 32. Kernels that count in 32s need nothing: their
  collectives are cut to 32 lanes already.
Source: catalogue row 14.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP312", "rows-of-thirty-two", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"<<<",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """32-wide rows under collectives of the hardware's width."""
    yield from wave_findings(src, unit, RULE)
