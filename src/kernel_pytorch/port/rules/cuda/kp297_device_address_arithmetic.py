"""Arithmetic on a CUdeviceptr

What: `address + offset`, `address - offset` and `address += offset`, where address is a CUdeviceptr.
Why: CUDA's driver has numbers for device addresses, HIP has `void*` (hipDeviceptr_t), which cannot be added to.
Fix: kpt casts the address to `char*` where it is added to, because the number counts bytes.
Source: projects/hip/include/hip/hip_runtime_api.h in ROCm/rocm-systems (hipDeviceptr_t)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

_TYPE = b"CUdeviceptr"
RULE = Rule("KP297", "device-address-arithmetic", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(_TYPE,))

_SUMS = frozenset((b"+", b"-"))
_AFTER_NAME = frozenset((b";", b"=", b",", b")"))
_NO_TYPE = frozenset((b"return", b"case", b"throw", b"delete", b"sizeof"))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each sum of an address that the file declares."""
    names = {name for at in words(src).get(_TYPE, ()) if (name := _name_after(src, at)) is not None}
    for name in sorted(names):
        for index in words(src)[name]:
            stars = _stars(src, index)
            if stars is None or text_at(src, index - 1) in (b".", b"->", b"::"):
                continue
            first = index - stars
            if any(text_at(src, at) != b"*" for at in range(first, index)) or _is_product(src, first, stars):
                continue
            place = Span(src.code[first].start, src.code[index].end)
            address = src.data[place.start : place.end]
            operator = text_at(src, index + 1)
            cast = b"reinterpret_cast<char*>(" + address + b")"
            if operator in (b"+=", b"-="):
                edit = Edit(Span(place.start, src.code[index + 1].end), address + b" = " + cast + b" " + operator[:1])
            elif operator in _SUMS and text_at(src, index + 2) not in names:
                edit = Edit(place, cast)
            else:
                continue
            yield RULE.finding(src, place, "a device address is a void* in HIP, which cannot be added to", [edit])


def _name_after(src: CxxFile, at: int) -> bytes | None:
    """The name that is declared with the type at `at`."""
    at += 1
    while text_at(src, at) == b"*":
        at += 1
    is_name = at < len(src.code) and src.code[at].kind == "identifier" and text_at(src, at + 1) in _AFTER_NAME
    return text_at(src, at) if is_name else None


def _stars(src: CxxFile, index: int) -> int | None:
    """How often the name at `index` points at an address, by its nearest declaration before; None for other types."""
    name = text_at(src, index)
    for at in reversed([one for one in words(src)[name] if one < index]):
        back = at - 1
        while text_at(src, back) in (b"*", b"&"):
            back -= 1
        word = src.code[back] if back >= 0 else None
        if word is None or word.kind != "identifier" or text_at(src, at + 1) not in (*_AFTER_NAME, b"["):
            continue
        if src.text(word) == _TYPE:
            return at - back - 1 if text_at(src, at + 1) != b"[" else None
        if src.text(word) not in _NO_TYPE:
            return None
    return None


def _is_product(src: CxxFile, first: int, stars: int) -> bool:
    """Whether the star in front is a multiplication."""
    if not stars:
        return False
    before = src.code[first - 1] if first else None
    return before is not None and (before.kind in ("identifier", "number") or src.text(before) in (b")", b"]"))
