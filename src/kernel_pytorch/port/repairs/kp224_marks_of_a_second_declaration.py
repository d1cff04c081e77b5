"""A second declaration whose __host__ and __device__ differ from the first

What: A template for both sides, `template <typename T> __host__ __device__ T f(T);`, with a specialization for the
    device alone, `template <> __device__ int f(int)`. Or a member that is declared `__device__` and defined without it.
Why: nvcc lets the two differ. For clang these marks are part of the function's type. So the specialization matches no
    template, and the member's definition is an overload of its declaration, which C++ does not allow.
Fix: On ROCm kpt gives the second declaration the marks of the first.
Source: https://llvm.org/docs/CompileCudaWithLLVM.html (dialect differences: overloading based on __host__ and
    __device__)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.repairs.marks import BOTH, marks_before, name_at, start_of
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
_NOT_THE_MARKS = "target attributes do not match"


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The marks of the declaration at the place made those of the one that the compiler has seen before."""
    src, found = place.src, place.found
    if found["special"] is not None and _NOT_THE_MARKS not in " ".join(place.complaint.context):
        return ()
    name = (found["special"] or found["outside"] or found["second"]).encode()
    index = name_at(src, name, place.offset)
    if index is None:
        return ()
    wanted = frozenset(found["first"].encode().split()) if found["first"] else _marks_of_the_first(place, name)
    # Specializations narrow a template for both sides, whose marks may be a macro; members have what they are given.
    wanted = wanted or (BOTH if found["special"] is not None else frozenset())
    marks = marks_before(src, index)
    if not wanted or wanted == marks.keys():
        return ()
    missing = b"".join(mark + b" " for mark in (b"__host__", b"__device__") if mark in wanted - marks.keys())
    too_many = [at for mark, at in marks.items() if mark not in wanted]
    start = src.code[min(marks.values(), default=start_of(src, index))].start
    removed = [Edit(Span(src.code[at].start, src.code[at + 1].start), b"") for at in too_many]
    if missing and removed and removed[0].span.start == start:
        return (Edit(removed[0].span, missing),)
    return (*([Edit(Span(start, start), missing)] if missing else []), *removed)


def _marks_of_the_first(place: RepairPlace, name: bytes) -> frozenset[bytes]:
    """What the declaration that a note of the compiler points to is marked with, where it says so in so many words."""
    for spot in place.complaint.spots[1:]:
        src = place.src if spot.path == place.src.path else place.around.file(spot.path)
        index = name_at(src, name, src.offset(spot.line, spot.column)) if src is not None else None
        if src is not None and index is not None:
            return frozenset(marks_before(src, index))
    return frozenset()
