"""`struct` in front of a type that is a typedef in HIP

What: `struct cudaGraphicsResource *r;` and other types that CUDA declares as structures and HIP as typedefs.
Why: C++ refuses `struct` in front of a typedef.
Fix: kpt takes the word out: the type's own name means the same on both sides. A forward declaration
    (`struct cudaGraphicsResource;`) becomes an include of HIP's runtime header on AMD.
Source: hip/hip_runtime_api.h, ROCm 7.2; each name was compiled with `struct` in front of it here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

_TYPES = (
    b"CUgraphicsResource_st", b"cudaExternalMemoryBufferDesc", b"cudaExternalMemoryHandleDesc",
    b"cudaExternalMemoryHandleType", b"cudaExternalMemoryMipmappedArrayDesc", b"cudaExternalSemaphoreHandleDesc",
    b"cudaExternalSemaphoreHandleType", b"cudaExternalSemaphoreSignalParams", b"cudaExternalSemaphoreSignalParams_v1",
    b"cudaExternalSemaphoreWaitParams", b"cudaExternalSemaphoreWaitParams_v1", b"cudaGraphicsResource",
    b"cudaLaunchAttribute", b"cudaLaunchParams", b"cudaLibraryOption",
)  # fmt: skip
RULE = Rule("KP294", "tag-of-typedef", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=_TYPES)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each such word in front of one of the types."""
    for name in _TYPES:
        for index in words(src).get(name, ()):
            word = src.code[index - 1] if index else None
            after = text_at(src, index + 1)
            if word is None or src.text(word) not in (b"struct", b"enum") or after in (b"{", b":"):
                continue
            token = src.code[index]
            message = f"{name.decode()} is a typedef in HIP, which `{src.text(word).decode()}` cannot stand in front of"
            edit = Edit(Span(word.start, token.start), b"")
            if after == b";":
                if not _is_alone(src, index):
                    continue
                edit = Edit(Span(word.start, src.code[index + 1].end), b"#include <hip/hip_runtime_api.h>")
            yield RULE.finding(src, Span(word.start, token.end), message, [edit])


def _is_alone(src: CxxFile, index: int) -> bool:
    """Whether a declaration is all that its line holds: an #include needs a line of its own."""
    start, end = src.line_span(src.code[index].start)
    return src.data[start:end].split() == [src.text(src.code[index - 1]), src.text(src.code[index]) + b";"]
