"""A dim3 made from a uint3

What: `grid = make_uint3(...)` or `dim3 grid = make_uint3(...)`, where grid is a dim3.
Why: CUDA's dim3 converts from and to uint3. HIP's converts to uint3 only.
Fix: `dim3(...)` with the same three numbers.
Source: hip/amd_detail/amd_hip_vector_types.h and hip_runtime_api.h of HIP 7.2; both forms were given to the compiler
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.declared import declared_type
from kernel_pytorch.port.cxx.tokens import text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP273", "dim3-from-uint3", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"make_uint3",))

_DIM3 = frozenset((b"dim3",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each make_uint3 that goes into a dim3."""
    for call in calls(src, b"make_uint3"):
        name = call.index - 2
        if text_at(src, call.index - 1) != b"=" or len(call.arguments) != 3:
            continue
        if text_at(src, name - 1) == b"dim3" or declared_type(src, name, _DIM3) is not None:
            token = src.code[call.index]
            place = Span(token.start, token.end)
            yield RULE.finding(src, place, "HIP's dim3 does not take a uint3", [Edit(place, b"dim3")])
