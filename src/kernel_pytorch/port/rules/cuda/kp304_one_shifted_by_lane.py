"""1 << lane with the hardware's lane number

What: a 32-bit 1 shifted by a lane number that counts to 63 on a 64-lane wave.
Why: a shift by 32 or more is undefined in 32 bits.
Fix: the lane number is taken modulo 32, as in CUDA. Code that follows the device's width shifts a 64-bit 1.
Source: catalogue row 5; C++ [expr.shift].
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP304", "one-shifted-by-lane", languages=("cuda",), safety=Safety.SAFE, triggers=(b"<<",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """1 << lane with the hardware's lane number."""
    yield from wave_findings(src, unit, RULE)
