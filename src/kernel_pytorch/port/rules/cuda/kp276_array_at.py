"""std::array's at() in device code

What: `.at(i)` of a std::array, or of cuda::std::array, in a function for the device.
Why: at() calls a host function that throws if the index is out of range. nvcc leaves that call out of device code. For
    clang it is an error: "reference to __host__ function '__throw_out_of_range_fmt'".
Fix: kpt writes `[i]` on ROCm, which does what at() does in nvcc's device code. If the host calls the function too,
    at() does throw there, and you decide.
Source: https://github.com/gcc-mirror/gcc/blob/master/libstdc++-v3/include/std/array (at() calls
    __throw_out_of_range_fmt)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP276", "array-at", languages=("cuda",), safety=Safety.SAFE, triggers=(b".at(", b".at ("))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each use in device code, of what the unit declares as an array."""
    for index in words(src).get(b"at", ()):
        if text_at(src, index - 1) != b"." or text_at(src, index + 1) != b"(":
            continue
        end = closing(src, index + 1)
        region = device_region_at(src, src.code[index].start)
        if end is None or end == index + 2 or region is None or not _is_array(unit, text_at(src, index - 2)):
            continue
        span = Span(src.code[index - 1].start, src.code[end].end)
        message = "at() of an array throws on the host: clang refuses it in device code"
        inner = src.data[src.code[index + 1].end : src.code[end].start]
        edits = [] if region.is_host_too else [Edit(span, b"[" + inner + b"]")]
        yield RULE.finding(src, span, message, edits)


def _is_array(unit: Unit, name: bytes) -> bool:
    declared = re.compile(rb"std::array\s*<[^;{}]*>\s*&?\s*" + re.escape(name) + rb"\b")
    return bool(re.fullmatch(rb"[A-Za-z_]\w*", name)) and any(declared.search(file.data) for file in unit.files)
