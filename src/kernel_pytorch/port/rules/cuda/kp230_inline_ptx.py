"""Inline PTX: asm statements in device code

What: `asm("...")` with PTX text.
Why: PTX is NVIDIA's assembly; clang hands the text to AMD's assembler, which refuses it.
Fix: a block whose instructions all have a known meaning becomes C++ (see docs/ptx.md for the table); lane ids and votes
  keep warps of 32. Anything else is explained and left: what it does, the nearest AMD form, the effort.
Source: rules catalogue row 31; PTX ISA 8.x; https://github.com/ROCm/HIPIFY/issues/731
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.ptx.report import findings_with_code
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP230", "inline-ptx", languages=("cuda",), safety=Safety.SAFE, triggers=(b"asm",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each asm statement whose instructions belong to no other rule."""
    yield from findings_with_code(RULE, src)
