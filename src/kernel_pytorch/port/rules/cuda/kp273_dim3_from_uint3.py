"""A dim3 made from a uint3

What: `grid = make_uint3(...)` or `dim3 grid = make_uint3(...)`, where grid is a dim3, and a uint3 that is the size of a
    launch.
Why: CUDA's dim3 converts from and to uint3. HIP's dim3 converts to uint3 only.
Fix: `dim3(...)` with the same three numbers; a variable for launches becomes a dim3.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_vector_types.h in ROCm/rocm-systems;
    projects/hip/include/hip/hip_runtime_api.h in ROCm/rocm-systems. Both forms were compiled with the headers of ROCm
    7.2.
"""

from __future__ import annotations

import re
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
        place = _span(src, call.index)
        before = text_at(src, name - 1)
        if before == b"uint3":
            if _is_size_of_launch(src, text_at(src, name)):
                edits = [Edit(_span(src, name - 1), b"dim3"), Edit(place, b"dim3")]
                yield RULE.finding(src, place, "a HIP launch takes a dim3, not a uint3", edits)
        elif before == b"dim3" or declared_type(src, name, _DIM3) is not None:
            yield RULE.finding(src, place, "HIP's dim3 does not take a uint3", [Edit(place, b"dim3")])


def _span(src: CxxFile, index: int) -> Span:
    return Span(src.code[index].start, src.code[index].end)


def _is_size_of_launch(src: CxxFile, name: bytes) -> bool:
    pattern = rb"<<<[^;<>]*?\b%b\b[^;]*?>>>" % re.escape(name)
    return re.search(pattern, src.data) is not None
