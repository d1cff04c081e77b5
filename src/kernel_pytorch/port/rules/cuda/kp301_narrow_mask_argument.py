"""A warp intrinsic with a 32-bit lane mask

What: a shuffle or vote whose mask argument is a 32-bit value: 0xffffffff, a variable, __activemask().
Why: HIP's `_sync` functions take a 64-bit mask on every target (a static_assert otherwise) and, unless NDEBUG is
  defined, trap when it is not exactly the set of live lanes that pass it. In a 64-lane wave of which one half is in
  another branch, or has no threads, neither 0xffffffff nor ~0 is.
Fix: the form without a mask, which has the same lanes take part: lanes of an AMD wave run in lockstep. Votes are cut
  to the caller's 32-lane half, so their result keeps its meaning. A partial mask is applied to the result.
Source: catalogue rows 1 and 2; rocm.docs.amd.com HIP C++ language extensions;
  hip/amd_detail/amd_warp_sync_functions.h of ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP301", "narrow-mask-argument", languages=("cuda",), safety=Safety.SAFE, triggers=(b"_sync", b"__any", b"__all")
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A warp intrinsic with a 32-bit lane mask."""
    yield from wave_findings(src, unit, RULE)
