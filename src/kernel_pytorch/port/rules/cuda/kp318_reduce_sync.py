"""__reduce_add_sync and its kin

What: the integer reductions of a warp.
Why: HIP's reduce the whole wave, and in ROCm 7.2 treat words as truth values in `and`, `or` and `xor` of a mask with
  holes.
Fix: a butterfly of width 32. With a partial mask it is for a person.
Source: catalogue row 20; rocm.docs.amd.com HIP C++ language extensions; hip/amd_detail/amd_warp_sync_functions.h of
  ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP318", "reduce-sync", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__reduce_",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """__reduce_add_sync and its kin."""
    yield from wave_findings(src, unit, RULE)
