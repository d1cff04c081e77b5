"""A memory type compared with a number

What: `attributes.type == 2` or `.memoryType == 2`, with a cudaPointerAttributes.
Why: Before ROCm 6.0 HIP used other numbers (host 0, device 1; CUDA has 1 and 2). A number also tells readers nothing.
Fix: The name: 0 is cudaMemoryTypeUnregistered, 1 cudaMemoryTypeHost, 2 cudaMemoryTypeDevice, 3 cudaMemoryTypeManaged.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

_NAMES = {
    b"0": b"cudaMemoryTypeUnregistered",
    b"1": b"cudaMemoryTypeHost",
    b"2": b"cudaMemoryTypeDevice",
    b"3": b"cudaMemoryTypeManaged",
}

RULE = Rule(
    "KP249", "memory-type-number", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"cudaPointerAttributes",)
)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each comparison of a pointer's attributes with a number."""
    known = words(src)
    variables = {text_at(src, index + 1) for index in known.get(b"cudaPointerAttributes", ())}
    for field in (b"type", b"memoryType"):
        for index in known.get(field, ()):
            if text_at(src, index - 1) not in (b".", b"->") or text_at(src, index - 2) not in variables:
                continue
            number = text_at(src, index + 2)
            if text_at(src, index + 1) in (b"==", b"!=") and number in _NAMES:
                span = Span(src.code[index + 2].start, src.code[index + 2].end)
                message = f"memory type {number.decode()} as a number: HIP before ROCm 6.0 used other numbers"
                yield RULE.finding(src, span, message, [Edit(span, _NAMES[number])])
