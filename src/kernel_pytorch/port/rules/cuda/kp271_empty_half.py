"""A half or half2 set to {}

What: `x = {}` where x is declared as a half, half2 or __nv_bfloat16.
Why: CUDA's types have one assignment that takes {}. HIP's types have one for each raw form too, and the compiler finds
    them equally good: "use of overloaded operator '=' is ambiguous".
Fix: kpt names the type: `x = half2{}`. The value is the same. __nv_bfloat162 has one assignment in HIP too, so it
    stays.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_fp16.h in ROCm/rocm-systems;
    projects/clr/hipamd/include/hip/amd_detail/amd_hip_bf16.h in ROCm/rocm-systems. Each type was compiled with the
    headers of ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.declared import declared_type
from kernel_pytorch.port.cxx.tokens import punctuation, text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP271", "empty-half", languages=("cuda",), safety=Safety.SAFE, triggers=(b"half", b"bfloat16"))

_TYPES = frozenset((b"half", b"__half", b"half2", b"__half2", b"__nv_bfloat16", b"nv_bfloat16"))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each assignment of an empty list to a name that a declaration before it gives one of the types."""
    for index in punctuation(src, b"="):
        if text_at(src, index + 1) != b"{" or text_at(src, index + 2) != b"}":
            continue
        kind = declared_type(src, index - 1, _TYPES)
        if kind is not None:
            opening = src.code[index + 1]
            name = text_at(src, index - 1).decode("utf-8", "replace")
            message = f"{name} = {{}} is ambiguous in HIP: {kind.decode()} has several assignments that take {{}}"
            place = Span(opening.start, opening.start)
            yield RULE.finding(src, place, message, [Edit(place, kind)])
