"""__AMDGCN_WAVEFRONT_SIZE

What: The compiler's wave size macro, with or without trailing underscores.
Why: New compilers no longer define it. A test of it is then false without a message, and a use of it does not compile.
Fix: In device code kpt writes the compiler's builtin, which is not a constant expression. A preprocessor line is left
    to you: the targets with 64 lanes are those that define __GFX8__ or __GFX9__.
Source: https://github.com/ggml-org/llama.cpp/pull/14183
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
