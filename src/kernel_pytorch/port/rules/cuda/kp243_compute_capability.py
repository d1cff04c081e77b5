"""Compute capability compared with a number

What: `prop.major >= 8` or `10 * prop.major + prop.minor` with a cudaDeviceProp, or the capability attributes.
Why: AMD fills the same fields: gfx90a reports 9.0, gfx942 9.4, gfx1100 11.0. The number collides with Hopper's, so the
    program picks kernels for NVIDIA at run time.
Fix: First test for AMD (__HIP_PLATFORM_AMD__), then test gcnArchName or the feature itself. kpt leaves comparisons
    with 7 or less alone: they are true for every GPU that matters here.
Source: vllm-project/vllm#40620; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP243",
    "compute-capability",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"major", b"ComputeCapability", b"COMPUTE_CAPABILITY"),
)

_DECLARED = re.compile(rb"\bcudaDeviceProp\b|\bgetCurrentDeviceProperties\b|\bgetDeviceProperties\b")
_COMPARISONS = frozenset({b">=", b"<=", b"==", b"!=", b"<", b">"})
_ATTRIBUTES = (
    b"cudaDevAttrComputeCapabilityMajor", b"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", b"cuDeviceComputeCapability",
)  # fmt: skip
_HARMLESS = 7
_SENTINEL = 99  # 9999 marks the CPU emulation of old toolkits


def check(src: CxxFile) -> Iterator[Finding]:
    """Each comparison or combination of the capability that an AMD GPU answers wrongly."""
    for name in _ATTRIBUTES:
        for index in words(src).get(name, ()):
            token = src.code[index]
            message = f"{name.decode()}: an AMD GPU answers with its gfx number (9.4 for gfx942), not a capability"
            yield RULE.finding(src, Span(token.start, token.end), message)
    if not _DECLARED.search(src.data):
        return
    for index in words(src).get(b"major", ()):
        if text_at(src, index - 1) not in (b".", b"->"):
            continue
        number = _compared_with(src, index)
        if number is not None and _HARMLESS < number < _SENTINEL:
            span = Span(src.code[index - 2].start, src.code[index + 2].end)
            yield RULE.finding(src, span, f"major compared with {number}: gfx90a reports 9, gfx942 9, gfx1100 11")
        elif _is_combined(src, index):
            span = Span(src.code[index].start, src.code[index].end)
            yield RULE.finding(src, span, "major and minor as one number: on AMD it is a gfx number, not an SM version")


def _compared_with(src: CxxFile, index: int) -> int | None:
    if text_at(src, index + 1) in _COMPARISONS:
        other = text_at(src, index + 2)
    elif text_at(src, index - 3) in _COMPARISONS:
        other = text_at(src, index - 4)
    else:
        return None
    return int(other) if other.isdigit() else None


def _is_combined(src: CxxFile, index: int) -> bool:
    """major * 10 + minor, 10 * major ..., major << 4 ..."""
    after, number = text_at(src, index + 1), text_at(src, index + 2)
    if after in (b"*", b"<<") and number in (b"10", b"100", b"4", b"0x10", b"16"):
        return True
    return text_at(src, index - 3) == b"*" and text_at(src, index - 4) in (b"10", b"100")
