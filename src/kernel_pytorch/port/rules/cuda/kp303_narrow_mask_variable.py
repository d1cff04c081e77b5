"""A lane mask in a 32-bit variable

What: the result of __ballot, __ballot_sync or __activemask kept in, returned as or passed in 32 bits.
Why: it has 64 bits on HIP: lanes 32-63 are dropped without a warning, and the upper half of a wave sees the lower
  half's votes.
Fix: the vote is cut to the caller's 32-lane half where it is taken; variables, parameters, fields and return types
  keep their type and their meaning. In code that follows the device's width the variable is widened instead, if every
  use of it is seen.
Source: catalogue row 3; rocm.docs.amd.com HIP C++ language extensions; hip/amd_detail/amd_warp_sync_functions.h of
  ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP303", "narrow-mask-variable", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__ballot", b"__activemask")
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A lane mask in a 32-bit variable."""
    yield from wave_findings(src, unit, RULE)
