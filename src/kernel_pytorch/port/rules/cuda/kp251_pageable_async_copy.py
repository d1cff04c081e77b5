"""cudaMemcpyAsync from memory that is freed before anybody waits

What: An asynchronous copy whose host buffer is freed or deleted later in the same function, with no synchronisation in
    between.
Why: CUDA copies pageable memory to a staging buffer before it returns. HIP may still be reading the buffer when the
    program frees it.
Fix: Synchronise the stream before you free the buffer, or pin the buffer and keep it.
Source: https://docs.nvidia.com/cuda/archive/12.2.0/cuda-runtime-api/api-sync-behavior.html (CUDA's staging);
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md (HIP)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.cxx.tokens import text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP251", "pageable-async-copy", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"cudaMemcpyAsync",)
)

_LOOKED_AHEAD = 4000  # tokens: a long function
_WAITS = (b"Synchronize", b"cudaMemcpy", b"cudaStreamDestroy", b"cudaFree")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each copy from a buffer that is freed too early."""
    for call in calls(src, b"cudaMemcpyAsync"):
        if len(call.arguments) < 4 or not call.argument(src, 3).endswith(b"cudaMemcpyHostToDevice"):
            continue
        source = call.argument(src, 1)
        name = source.decode("latin-1")
        if name.isidentifier() and _freed_before_wait(src, call, source):
            message = f"{name} is freed while HIP may still be copying from it: CUDA had staged it by then"
            yield RULE.finding(src, call.span, message)


def _freed_before_wait(src: CxxFile, call: Call, name: bytes) -> bool:
    depth = 0
    for index in range(call.index + 1, min(call.index + _LOOKED_AHEAD, len(src.code))):
        text = text_at(src, index)
        depth += (text == b"{") - (text == b"}")
        if depth < 0:
            return False
        if src.code[index].start < call.span.end:
            continue
        if src.code[index].kind == "identifier":
            if text == b"cudaMemcpyAsync":
                continue
            if any(word in text for word in _WAITS):
                return False
            if text in (b"free", b"delete") and name in (
                text_at(src, index + 2),
                text_at(src, index + 3),
                text_at(src, index + 1),
            ):
                return True
    return False
