"""A function that is marked for host or device otherwise than its first declaration

What: A template for both sides, `template <typename T> __host__ __device__ T f(T);`, with a specialization for the
    device alone, `template <> __device__ int f(int)`; a member that is declared `__device__` and defined without.
Why: nvcc lets the two differ. For clang a function's marks are part of what it is, so the second declaration belongs
    to no template, or overloads the first, which it may not.
Fix: On ROCm kpt gives the second declaration the marks of the first.
Source: https://llvm.org/docs/CompileCudaWithLLVM.html (dialect differences: overloading based on __host__ and
    __device__)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

_MARKS = r"(?:__host__ __device__|__device__|__host__)"
REPAIR = Repair(
    "KP224",
    "marks-of-a-second-declaration",
    re.compile(
        r"no function template matches function template specialization '(?P<special>\w+)'|"
        r"out-of-line definition of '(?P<outside>\w+)' does not match any declaration|"
        rf"{_MARKS} function '(?P<second>\w+)' cannot overload (?P<first>{_MARKS}) function"
    ),
)
_BOTH = frozenset((b"__host__", b"__device__"))
_NOT_THE_MARKS = "target attributes do not match"
_ENDS = frozenset((b";", b"}", b"{"))
_ACCESS = frozenset((b"public", b"private", b"protected"))


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The marks of the declaration at the place made those of the one that the compiler has seen before."""
    src, found = place.src, place.found
    if found["special"] is not None and _NOT_THE_MARKS not in " ".join(place.complaint.context):
        return ()
    name = (found["special"] or found["outside"] or found["second"]).encode()
    index = _name_at(src, name, place.offset)
    if index is None:
        return ()
    wanted = frozenset(found["first"].encode().split()) if found["first"] else _marks_before(place, name)
    # Specializations narrow a template for both sides, whose marks may be a macro; members have what they are given.
    wanted = wanted or (_BOTH if found["special"] is not None else frozenset())
    first = _start_of(src, index)
    marks = {text_at(src, at): at for at in range(first, index) if text_at(src, at) in _BOTH}
    if not wanted or wanted == marks.keys():
        return ()
    missing = b"".join(mark + b" " for mark in (b"__host__", b"__device__") if mark in wanted - marks.keys())
    too_many = [at for mark, at in marks.items() if mark not in wanted]
    start = src.code[min(marks.values(), default=first)].start
    removed = [Edit(Span(src.code[at].start, src.code[at + 1].start), b"") for at in too_many]
    if missing and removed and removed[0].span.start == start:
        return (Edit(removed[0].span, missing),)
    return (*([Edit(Span(start, start), missing)] if missing else []), *removed)


def _marks_before(place: RepairPlace, name: bytes) -> frozenset[bytes]:
    """What the declaration that a note of the compiler points to is marked with, where it says so in so many words."""
    for spot in place.complaint.spots[1:]:
        src = place.src if spot.path == place.src.path else place.around.file(spot.path)
        index = _name_at(src, name, src.offset(spot.line, spot.column)) if src is not None else None
        if src is not None and index is not None:
            return _BOTH & {text_at(src, at) for at in range(_start_of(src, index), index)}
    return frozenset()


def _name_at(src: CxxFile, name: bytes, offset: int) -> int | None:
    return next((index for index in words(src).get(name, ()) if src.code[index].start == offset), None)


def _start_of(src: CxxFile, index: int) -> int:
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
