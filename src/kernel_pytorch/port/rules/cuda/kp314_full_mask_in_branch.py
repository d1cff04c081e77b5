"""A collective of the full warp where the warp is split

What: A full mask under a condition that differs between lanes, or after some lanes have left.
Why: Values read from lanes that are not there are undefined. NVIDIA GPUs since Volta wait for the lanes; AMD waves do
    not.
Fix: Move the collective out of the condition, or give lanes without work a neutral value.
Source: CUDA C++ Programming Guide, "Warp Shuffle Functions";
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md;
    https://github.com/fixstars/cuda-efficient-features/pull/3
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP314", "full-mask-in-branch", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"_sync",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A collective of the full warp where the warp is split."""
    yield from wave_findings(src, unit, RULE)
