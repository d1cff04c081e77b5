"""Arithmetic on a CUdeviceptr

What: `address + offset`, `address - offset` and `address += offset`, where address is a CUdeviceptr.
Why: CUDA's driver has numbers for device addresses, HIP has `void*` (hipDeviceptr_t), which cannot be added to.
Fix: The address is cast to `char*` where it is added to: bytes are what the number counts.
Source: hip/hip_runtime_api.h, ROCm 7.2 (hipDeviceptr_t)
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


def check(src: CxxFile) -> Iterator[Finding]:
    """Each sum of an address that the file declares."""
    pointers = _declared(src)
    for name, stars in pointers.items():
        for index in words(src).get(name, ()):
            if text_at(src, index - 1) in (b".", b"->", b"::"):
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
            elif operator in _SUMS and text_at(src, index + 2) not in pointers:
                edit = Edit(place, cast)
            else:
                continue
            yield RULE.finding(src, place, "a device address is a void* in HIP, which cannot be added to", [edit])


def _declared(src: CxxFile) -> dict[bytes, int]:
    """The variables and parameters that are addresses, with the stars of their type. A name declared twice with
    different types is left out."""
    found: dict[bytes, int] = {}
    for index in words(src).get(_TYPE, ()):
        at = index + 1
        while text_at(src, at) == b"*":
            at += 1
        is_name = at < len(src.code) and src.code[at].kind == "identifier" and text_at(src, at + 1) in _AFTER_NAME
        if is_name:
            name, stars = text_at(src, at), at - index - 1
            if found.setdefault(name, stars) != stars:
                found[name] = -1
    others = {name for name in found if _is_declared_otherwise(src, name)}
    return {name: stars for name, stars in found.items() if stars >= 0 and name not in others}


def _is_declared_otherwise(src: CxxFile, name: bytes) -> bool:
    for index in words(src)[name]:
        back = index - 1
        while text_at(src, back) in (b"*", b"&"):
            back -= 1
        word = src.code[back] if back >= 0 else None
        is_type = word is not None and word.kind == "identifier" and src.text(word) not in (_TYPE, b"return", b"case")
        if is_type and text_at(src, index + 1) in (*_AFTER_NAME, b"[") and text_at(src, back - 1) not in (b"=", b"("):
            return True
    return False


def _is_product(src: CxxFile, first: int, stars: int) -> bool:
    """Whether the star in front is a multiplication."""
    if not stars:
        return False
    before = src.code[first - 1] if first else None
    return before is not None and (before.kind in ("identifier", "number") or src.text(before) in (b")", b"]"))
