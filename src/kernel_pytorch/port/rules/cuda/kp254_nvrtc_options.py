"""NVRTC options that name an NVIDIA architecture

What: string literals such as "--gpu-architecture=compute_80" or "-arch=sm_80" in a file that calls nvrtcCompileProgram.
Why: hipRTC does not know them and the compilation fails; it wants --offload-arch=gfx..., and takes the current device's
  architecture where nothing is said. NVRTC's --use_fast_math and -default-device are unknown to it too.
Fix: a person's: leave the architecture out on ROCm, or build the option from gcnArchName.
Source: rules catalogue row 56; https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP254", "nvrtc-options", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"nvrtcCompileProgram",)
)

_OPTION = re.compile(
    rb"-{1,2}(?:gpu-architecture|arch)\b|\b(?:compute|sm)_\d\d|--use_fast_math|-default-device|--extra-device-vectorization|--maxrregcount"
)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each string literal with such an option."""
    for token in src.code:
        if token.kind != "string":
            continue
        found = _OPTION.search(src.data, token.start, token.end)
        if found:
            shown = src.text(token).decode("utf-8", "replace")
            message = f"{shown} is an option of NVRTC: hipRTC refuses it (it wants --offload-arch=gfx...)"
            yield RULE.finding(src, Span(token.start, token.end), message)
