"""32-wide rows under collectives of the hardware's width

What: A launch with dim3(32, n) of a kernel whose shuffles or votes follow warpSize.
Why: Two rows share one 64-lane wave. Their sums and leaders are mixed.
Fix: Use rows of warpSize threads, or collectives of width 32. Kernels that count in 32s need nothing: kpt has cut
    their collectives to 32 lanes already.
Source: https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
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
