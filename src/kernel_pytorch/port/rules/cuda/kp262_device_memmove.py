"""memmove in device code

What: `memmove` or `std::memmove` called in a device function.
Why: nvcc provides it there; HIP provides memcpy and memset, and for memmove only the host's, which device code cannot
  call. (min, max, memcpy and memset, which older HIP lacked in some combinations, are complete in HIP 7.2.)
Fix: `__builtin_memmove`, which clang lowers to a loop.
Source: rules catalogue row 68 of overloads seen in the field; checked against the headers of HIP 7.2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.tokens import text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP262", "device-memmove", languages=("cuda",), safety=Safety.SAFE, triggers=(b"memmove",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each call in device code."""
    for call in calls(src, b"memmove"):
        if device_region_at(src, call.span.start) is None:
            continue
        start = call.index
        if text_at(src, start - 1) == b"::":
            start -= 2 if text_at(src, start - 2) == b"std" else 1
        span = Span(src.code[start].start, src.code[call.index].end)
        message = "memmove in device code: HIP has the host's only"
        yield RULE.finding(src, span, message, [Edit(span, b"__builtin_memmove")])
