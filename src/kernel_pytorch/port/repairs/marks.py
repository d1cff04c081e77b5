"""What a declaration is marked with: `__host__`, `__device__`, both or neither."""

from __future__ import annotations

from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import text_at, words

BOTH = frozenset((b"__host__", b"__device__"))
_ENDS = frozenset((b";", b"}", b"{"))
_ACCESS = frozenset((b"public", b"private", b"protected"))


def name_at(src: CxxFile, name: bytes, offset: int) -> int | None:
    """The index of the name that stands at an offset."""
    return next((index for index in words(src).get(name, ()) if src.code[index].start == offset), None)


def marks_before(src: CxxFile, index: int) -> dict[bytes, int]:
    """The marks of the declaration whose name is at an index, with their own indexes."""
    return {text_at(src, at): at for at in range(start_of(src, index), index) if text_at(src, at) in BOTH}


def start_of(src: CxxFile, index: int) -> int:
    """The first token of a declaration behind its template heads, by the index of its name."""
    first = index
    while first > 0 and text_at(src, first - 1) not in _ENDS and not is_in_directive(src, src.code[first - 1].start):
        if text_at(src, first - 1) == b":" and text_at(src, first - 2) in _ACCESS:
            break
        first -= 1
    while text_at(src, first) == b"template":
        depth = 0
        for at in range(first + 1, index):
            depth += text_at(src, at).count(b"<") - text_at(src, at).count(b">")
            if depth <= 0:
                first = at + 1
                break
        else:
            break
    return first
