"""A handle of CUDA's used as a number

What: `texture & 0xffffffff`, `texture >> 32`, `(cudaTextureObject_t)low | ...`,
    `*(reinterpret_cast<CUdeviceptr*>(place)) = width` and `reinterpret_cast<CUdeviceptr>(p)` of a pointer to const:
    texture and surface objects and device addresses that code computes with, stores numbers as, or makes of pointers.
Why: These are 64-bit numbers in CUDA and pointers in HIP.
Fix: kpt casts a handle that the file declares to a number where bits of it are taken, and casts a number that is
    stored as one to the handle. A reinterpret_cast that would take a const away becomes a cast of C. If the code puts
    a handle together from numbers, change it yourself.
Source: projects/hip/include/hip/driver_types.h in ROCm/rocm-systems;
    https://docs.nvidia.com/cuda/cuda-driver-api/index.html (CUdeviceptr)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.declared import declared_type
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

_OBJECTS = frozenset((b"cudaTextureObject_t", b"cudaSurfaceObject_t", b"CUtexObject", b"CUsurfObject"))
_HANDLES = _OBJECTS | {b"CUdeviceptr"}
# A project's own name for a device address may stand in another header: `reinterpret_cast<address_t>(p)`.
RULE = Rule(
    "KP207",
    "handle-as-number",
    languages=("cuda", "c++"),
    safety=Safety.SAFE,
    triggers=(*sorted(_HANDLES), b"reinterpret_cast"),
)
_BITS = frozenset((b"&", b"|", b"^", b"<<", b">>", b"%"))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each handle in a computation, and each number stored as one."""
    if src.holds(b"reinterpret_cast"):
        yield from _of_const(src, unit)
    used = sorted(_HANDLES & src.vocabulary)
    if not used:
        return
    found = words(src)
    for kind in used:
        for index in found.get(kind, ()):
            yield from _stored(src, index)
            if kind in _OBJECTS and text_at(src, index - 1) == b"(" and text_at(src, index + 1) == b")":
                yield from _put_together(src, index)
        for name in sorted(_declared(src, found.get(kind, ())) if kind in _OBJECTS else ()):
            for index in found.get(name, ()):
                if text_at(src, index + 1) in _BITS and declared_type(src, index, _HANDLES) is not None:
                    token = src.code[index]
                    place = Span(token.start, token.end)
                    message = f"{name.decode()} is a pointer in HIP: cast it to a number to take its bits"
                    number = b"reinterpret_cast<unsigned long long>(" + name + b")"
                    yield RULE.finding(src, place, message, [Edit(place, number)])


_ALIAS = re.compile(rb"\busing\s+(\w+)\s*=\s*CUdeviceptr\s*;|\btypedef\s+CUdeviceptr\s+(\w+)\s*;")
_CAST = re.compile(rb"\breinterpret_cast\s*<\s*((?:\w+::)*(\w+))\s*>\s*\(\s*(\w+)\s*\)")
_FAR = 2000


def _of_const(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """`reinterpret_cast<CUdeviceptr>(p)`, or by the project's name of that type, where p is a pointer to const."""
    texts = [file.data for file in unit.files if b"CUdeviceptr" in file.vocabulary]
    if not texts:
        return
    names = {b"CUdeviceptr"} | {name for text in texts for found in _ALIAS.findall(text) for name in found if name}
    for cast in _CAST.finditer(src.data):
        if cast[2] not in names or src.code.index_of(cast.start(), cast.start() + len(b"reinterpret_cast")) is None:
            continue
        declared = re.compile(rb"\bconst\b[^;{}(),]*\*\s*(?:\w+\s+)?%b\b" % cast[3])
        if declared.search(src.data, max(0, cast.start() - _FAR), cast.start()):
            span = Span(cast.start(), src.data.index(b">", cast.end(1)) + 1)
            message = f"{cast[1].decode()} is a pointer in HIP: reinterpret_cast takes no const away"
            yield RULE.finding(src, span, message, [Edit(span, b"(" + cast[1] + b")")])


def _declared(src: CxxFile, places: tuple[int, ...]) -> set[bytes]:
    after = [at + 1 for at in places if at + 1 < len(src.code) and src.code[at + 1].kind == "identifier"]
    return {text_at(src, at) for at in after}


def _stored(src: CxxFile, index: int) -> Iterator[Finding]:
    """`*(reinterpret_cast<T*>(place)) = number;`: the number is cast."""
    if text_at(src, index - 1) != b"<" or text_at(src, index - 2) != b"reinterpret_cast":
        return
    if [text_at(src, index + at) for at in (1, 2, 3)] != [b"*", b">", b"("]:
        return
    close = closing(src, index + 3)
    before = index - 3
    while close is not None and text_at(src, before) == b"(" and text_at(src, close + 1) == b")":
        before, close = before - 1, close + 1
    if close is None or text_at(src, before) != b"*" or text_at(src, close + 1) != b"=":
        return
    end = close + 2
    while end < len(src.code) and text_at(src, end) not in (b";", b"{", b"}"):
        end += 1
    place = Span(src.code[close + 2].start, src.code[end - 1].end)
    kind, value = text_at(src, index), src.data[place.start : place.end]
    if value.startswith(b"(" + kind + b")"):
        return
    message = f"{kind.decode()} is a pointer in HIP: values stored in one need a cast"
    yield RULE.finding(src, place, message, [Edit(place, b"(" + kind + b")(" + value + b")")])


def _put_together(src: CxxFile, index: int) -> Iterator[Finding]:
    """`(T)low | (T)high << 32`: said at the first cast of a statement."""
    end = start = index
    while end < len(src.code) and text_at(src, end) not in (b";", b"{", b"}"):
        end += 1
    while start > 0 and text_at(src, start - 1) not in (b";", b"{", b"}"):
        start -= 1
    kind = text_at(src, index)
    is_first = kind not in {text_at(src, at) for at in range(start, index)}
    if is_first and {text_at(src, at) for at in range(index, end)} & {b"|", b"<<", b"^"}:
        token = src.code[index]
        message = f"{kind.decode()} is a pointer in HIP: compute with unsigned long long and cast the result to it"
        yield RULE.finding(src, Span(token.start, token.end), message)
