"""An array whose size is a variable, with an initialiser

What: `T a[n] = {0};` or `= {}`, where n is a parameter or a variable of the function.
Why: g++, which compiles the host's half for nvcc, takes an initialiser for such an array as an extension. clang, which
    compiles both halves for AMD, refuses it: "variable-sized object may not be initialized".
Fix: The array is declared without the initialiser and set to zero behind it.
Source: https://gcc.gnu.org/onlinedocs/gcc/Variable-Length.html; clang 22's message
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP216", "initialised-vla", languages=("cuda",), safety=Safety.SAFE, triggers=(b"] = {", b"]={", b"] ={"))

_INTEGER = rb"int|long|short|unsigned|size_t|u?int(?:8|16|32|64)_t"
_ZEROS = re.compile(rb"\]\s*=\s*\{\s*0?\s*\}\s*;")
# What stands in front of it, in the last few bytes: no file takes more than linear time.
_ARRAY = re.compile(rb"(\w+)(?:\s*\*+\s*|\s+)([A-Za-z_]\w*)\[([A-Za-z_]\w*)$")
_LONGEST = 200
_PLAIN = re.compile(_INTEGER + rb"|char|bool|float|double|half|\w+_t")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such array of plain values that is all zero: no other list fits a size that is not known."""
    for found in _ZEROS.finditer(src.data):
        window = max(0, found.start() - _LONGEST)
        array = _ARRAY.search(src.data[window : found.start()])
        if array is None:
            continue
        kind, name, size = array.groups()
        if not _is_plain(kind) or constant_value(size, unit) is not None or not _is_variable(src, size, found.start()):
            continue
        span = Span(window + array.start(2), found.end())
        text = name + b"[" + size + b"]; __builtin_memset(" + name + b", 0, sizeof(" + name + b"));"
        message = (
            f"{name.decode()} has a variable size, {size.decode()}, and an initialiser: clang refuses the two together"
        )
        yield RULE.finding(src, span, message, [Edit(span, text)])


def _is_plain(kind: bytes) -> bool:
    """Whether zero bytes are a zero of a type: numbers and CUDA's handles."""
    row = find_name(kind)
    return _PLAIN.fullmatch(kind) is not None or (row is not None and row.kind == "type")


def _is_variable(src: CxxFile, size: bytes, before: int) -> bool:
    """Whether the nearest declaration in front makes an integer of the name that is no constant."""
    declared = rb"(?<![\w.])((?:const(?:expr)?\s+)?)(?:unsigned\s+|signed\s+)?(?:%b)\s+%b\s*([,);=])"
    places = list(re.finditer(declared % (_INTEGER, size), src.data[:before]))
    return bool(places) and (not places[-1].group(1) or places[-1].group(2) in b",)")
