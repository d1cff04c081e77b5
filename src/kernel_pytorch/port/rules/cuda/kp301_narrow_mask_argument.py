"""A warp intrinsic with a 32-bit lane mask

What: A shuffle or vote whose mask argument is a 32-bit value: 0xffffffff, a variable, __activemask().
Why: HIP's `_sync` functions take a 64-bit mask on every target; a narrower one fails a static_assert. Unless NDEBUG is
    defined they also trap when the mask is not exactly the set of live lanes that pass it. In a 64-lane wave of which
    one half is in another branch, or has no threads, neither 0xffffffff nor ~0 is that set.
Fix: kpt uses the form without a mask. The same lanes take part, because the lanes of an AMD wave run in lockstep. kpt
    cuts votes to the caller's 32-lane half, so that the result means the same, and applies a partial mask to the
    result.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html;
    hip/amd_detail/amd_warp_sync_functions.h, ROCm 7.2; ROCm/hip#3667; https://github.com/vllm-project/vllm/pull/45055
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
