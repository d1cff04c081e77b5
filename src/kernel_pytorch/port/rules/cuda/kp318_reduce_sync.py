"""__reduce_add_sync and its relatives

What: The integer reductions of a warp.
Why: HIP's versions reduce the whole wave. In ROCm 7.2, `and`, `or` and `xor` also treat words as true or false if the
    mask has holes.
Fix: kpt writes a butterfly of width 32. If it does not know that the mask is full, it writes a loop over the lanes in
    the mask.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/cooperative_groups.html;
    hip/amd_detail/amd_warp_sync_functions.h, ROCm 7.2
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
