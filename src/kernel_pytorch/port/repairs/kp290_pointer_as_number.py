"""Addresses cast to 32-bit numbers

What: `(unsigned)ptr`, `reinterpret_cast<uint32_t>(ptr)` of a pointer, mostly shared memory's address for inline PTX.
Why: nvcc truncates. clang refuses a cast from a pointer to a type that is smaller than it.
Fix: On ROCm kpt casts the pointer to uintptr_t first. The second cast then truncates it as nvcc does.
Source: https://eel.is/c++draft/expr.reinterpret.cast; clang's "cast from pointer to smaller type loses information"
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.tokens import closing, text_at
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP290", "pointer-as-number", re.compile(r"cast from pointer to smaller type '([^']+)' loses information")
)
_NUMBER = b"__UINTPTR_TYPE__"


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """A cast in between."""
    src = place.src
    here = next((index for index, token in enumerate(src.code) if token.start >= place.offset), None)
    if here is None:
        return ()
    if text_at(src, here) == b"reinterpret_cast" and text_at(src, here + 1) == b"<":
        opening = next((at for at in range(here, min(here + 12, len(src.code))) if text_at(src, at) == b"("), None)
        close = closing(src, opening) if opening is not None else None
        if opening is None or close is None:
            return ()
        inner = Span(src.code[opening].end, src.code[close].start)
        value = b"reinterpret_cast<" + _NUMBER + b">(" + src.data[inner.start : inner.end] + b")"
        word = Span(src.code[here].start, src.code[here].end)
        return (Edit(word, b"static_cast"), Edit(inner, value))
    if text_at(src, here) == b"(" and (close := closing(src, here)) is not None:
        return (Edit(Span(src.code[close].end, src.code[close].end), b"(" + _NUMBER + b")"),)
    return ()
