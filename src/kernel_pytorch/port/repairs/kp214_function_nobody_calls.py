"""A function that nobody calls and that cannot be had on AMD

What: A static, inline or template function of the project, or any function in a header, that uses a name without
    counterpart in HIP, and that no file of the project mentions besides its own definition.
Why: The compiler reads the whole function, so that one name stops every source that includes the header.
Fix: kpt leaves the function out on ROCm. The finding about the name stays where it is.
Source: https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables (the names without a counterpart); clang's "unknown
    type name" and "use of undeclared identifier", https://clang.llvm.org/docs/DiagnosticsReference.html
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP214",
    "function-nobody-calls",
    re.compile(r"(?:use of undeclared (?:identifier|library function)|unknown type name) '(\w+)'"),
)
# What makes a function the file's own: others may be called from libraries, or by their names.
_OWN = frozenset((b"static", b"inline", b"__inline__", b"__forceinline__", b"template", b"constexpr"))
# A plain function in a header is part of every source that includes it.
_HEADERS = (".h", ".hh", ".hpp", ".cuh", ".inl")
_NOT_PLAIN = frozenset((b"virtual", b"operator", b"friend", b"__global__", b"extern"))


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The whole function, with its template line."""
    lost = place.found[1].encode()
    row = find_name(lost)
    if row is None or row.hip or lost in shims():
        return ()
    for name, span in _functions_around(place.src, place.offset):
        is_mentioned = len(words(place.src).get(name, ())) > 1 or place.around.mentions(name)
        return () if is_mentioned else (Edit(span, b""),)
    return ()


def _functions_around(src: CxxFile, offset: int) -> list[tuple[bytes, Span]]:
    """The name and the extent of the file's own function that an offset is in: in its head, or in its body."""
    for index, token in enumerate(src.code):
        if token.kind != "identifier" or text_at(src, index + 1) != b"(" or token.start > offset + 4096:
            continue
        close = closing(src, index + 1)
        if close is None or text_at(src, close + 1) != b"{":
            continue
        last = closing(src, close + 1)
        if last is None or src.code[last].end <= offset:
            continue
        first = index
        while first > 0 and not _ends_before(src, first - 1):
            first -= 1
        if src.code[first].start > offset:
            return []
        before = {text_at(src, at) for at in range(first, index)}
        is_own = before & _OWN or (src.path.endswith(_HEADERS) and _is_outside_classes(src, first))
        if is_own and not before & _NOT_PLAIN:
            return [(src.text(token), Span(src.code[first].start, src.code[last].end))]
        return []
    return []


def _is_outside_classes(src: CxxFile, index: int) -> bool:
    """Whether no bracket encloses a token but those of namespaces and of `extern "C"`."""
    for at in range(index):
        if text_at(src, at) == b"{" and (closing(src, at) or 0) > index:
            head = {text_at(src, one) for one in range(max(0, at - 3), at)}
            if not head & {b"namespace", b'"C"'}:
                return False
    return True


def _ends_before(src: CxxFile, index: int) -> bool:
    return text_at(src, index) in (b";", b"}", b"{") or is_in_directive(src, src.code[index].start)
