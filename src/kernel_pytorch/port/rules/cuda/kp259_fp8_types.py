"""FP8 types

What: __nv_fp8_e4m3 and its relatives. kpt reports them once per file.
Why: gfx942 computes with the FNUZ formats only; gfx950 and gfx12 compute with the OCP formats that NVIDIA has. The
    same bits mean another value (half, for normal numbers), and NaN has another encoding.
Fix: Use the FNUZ type on gfx942 (__hip_fp8_e4m3_fnuz) with converted data and scales, and the OCP type elsewhere.
    Stored weights need scale x2, and the pattern 0x80 must become zero.
Source: https://rocm.docs.amd.com/projects/HIP/en/docs-6.3.3/reference/fp8_numbers.html;
    https://github.com/ggml-org/llama.cpp/pull/21040
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.cxx.unit import macros_of
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP259",
    "fp8-types",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"__nv_fp8", b"__NV_E4M3", b"__NV_E5M2"),
)


def check(src: CxxFile) -> Iterator[Finding]:
    """The first FP8 type of a file, less its own: `#define __nv_fp8_e5m2 char`, `struct __nv_fp8_e5m28`."""
    own = {macro.name for macro in macros_of(src)}
    named = {
        name: indexes
        for name, indexes in words(src).items()
        if name.startswith((b"__nv_fp8", b"__NV_E4M3", b"__NV_E5M2"))
        and name not in own
        and not any(_is_declared(src, index) for index in indexes)
    }
    uses = [index for indexes in named.values() for index in indexes]
    if uses:
        token = src.code[min(uses)]
        name = src.text(token).decode("utf-8", "replace")
        count = f"({counted(len(uses), 'use')} in this file)"
        message = f"{name} has OCP encoding; gfx942 computes in FNUZ: the same bits are another value {count}"
        yield RULE.finding(src, Span(token.start, token.end), message)


def _is_declared(src: CxxFile, index: int) -> bool:
    return index > 0 and src.text(src.code[index - 1]) in (b"struct", b"class")
