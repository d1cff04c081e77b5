"""warpSize as a constant expression

What: warpSize as array bound, template argument, case label or in a static_assert.
Why: It has not been a constant expression since ROCm 7.0.
Fix: kpt writes 32, CUDA's value. In code that follows the device's width, an array bound becomes 64, the largest
    width. The rest is left to you.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html;
    https://github.com/vllm-project/vllm/pull/20330; ginkgo-project/ginkgo#1931
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP308", "wave-size-constant", languages=("cuda",), safety=Safety.SAFE, triggers=(b"warpSize",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """warpSize as a constant expression."""
    yield from wave_findings(src, unit, RULE)
