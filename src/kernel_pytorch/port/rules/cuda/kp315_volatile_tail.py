"""A volatile reduction tail without barriers

What: s[i] += s[i + 16] and so on in volatile shared memory, with no barrier between the steps.
Why: The code relies on two things: that the lanes of a warp run in lockstep, and that their memory accesses keep their
    order. Compilers promise neither.
Fix: Continue the __syncthreads tree down to 1, or put __syncwarp between the steps.
Source: https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP315", "volatile-tail", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"volatile",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A volatile reduction tail without barriers."""
    yield from wave_findings(src, unit, RULE)
