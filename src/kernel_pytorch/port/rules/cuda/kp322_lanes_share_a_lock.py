"""A lock that lanes of one wave wait for

What: a loop on atomicCAS or atomicExch with constants, reached by more than one lane.
Why: lanes of an AMD wave make no progress on their own: the one that holds the lock waits for those that want it.
Fix: for a person: one lane acts for the others, or the work moves inside the successful branch and the loop outside.
Source: catalogue row 25; ROCm/hip issue 3301.
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
