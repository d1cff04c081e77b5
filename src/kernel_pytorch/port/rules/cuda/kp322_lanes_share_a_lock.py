"""A lock that lanes of one wave wait for

What: A loop on atomicCAS or atomicExch with constants, reached by more than one lane.
Why: The lanes of an AMD wave advance together. The lane that holds the lock waits for the lanes that try to take it,
    so the loop never ends.
Fix: Let one lane act for the others, or move the work into the branch that got the lock, with the loop around it.
Source: ROCm/hip#3301
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP322", "lanes-share-a-lock", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"atomicCAS", b"atomicExch")
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A lock that lanes of one wave wait for."""
    yield from wave_findings(src, unit, RULE)
