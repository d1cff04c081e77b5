"""memmove in device code

What: `memmove` or `std::memmove` called in a device function.
Why: nvcc provides it there. HIP provides memcpy and memset, and only the host has memmove, which device code cannot
    call. (min, max, memcpy and memset are complete in HIP 7.2; older HIP lacked some combinations.)
Fix: `__builtin_memmove`, which clang turns into a loop.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_device_functions.h in ROCm/rocm-systems (memcpy and memset for
    the device, no memmove). We found it by building HeCBench's CUDA programs.
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
        message = "memmove in device code: HIP has it for the host only"
        yield RULE.finding(src, span, message, [Edit(span, b"__builtin_memmove")])
