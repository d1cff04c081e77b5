"""__AMDGCN_WAVEFRONT_SIZE

What: the compiler's wave size macro, with or without trailing underscores.
Why: new compilers no longer define it: a test of it is silently false, a use of it does not compile.
Fix: the compiler's builtin in device code, which is not a constant expression. A directive is for a person: the
  targets with 64 lanes are those that define __GFX8__ or __GFX9__.
Source: catalogue row 9; ggml-org/llama.cpp pull 14183.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP309", "wavefront-size-macro", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__AMDGCN_WAVEFRONT_SIZE",)
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """__AMDGCN_WAVEFRONT_SIZE."""
    yield from wave_findings(src, unit, RULE)
