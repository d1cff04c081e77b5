"""A name straight behind a string

What: `"%"PRIu64"\\n"`, `"node ("FORMAT")"`: a macro without a space between it and the string before it.
Why: Since C++11 a name there is a suffix of the string. nvcc's host compiler, g++, still takes the name of a macro as a
    macro, and warns. clang stops with an error.
Fix: On ROCm kpt writes a space between the two. Real suffixes stay: those of the standard library ("text"s, "text"sv)
    and those that begin with an underscore.
Source: https://eel.is/c++draft/lex.ext; https://clang.llvm.org/docs/DiagnosticsReference.html#wreserved-user-defined-literal
Since: 0.1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.includes import includes_in
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP223", "glued-literal", languages=("cuda",), safety=Safety.SAFE, triggers=(b'"',))

_NAME = re.compile(rb"[A-Za-z]\w*")
_SUFFIXES = frozenset((b"s", b"sv", b"h", b"min", b"ms", b"us", b"ns", b"y", b"d", b"i", b"il"))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each such name."""
    if src.path.endswith(".c"):
        return
    for _, start, end in src.split.strings:
        name = _NAME.match(src.data, end)
        if name is None or name[0] in _SUFFIXES or end - start < 2 or src.data[end - 1 : end] != b'"':
            continue
        if any(include.start == start for include in includes_in(src)):
            continue
        message = f"{name[0].decode()} straight behind a string is its suffix in C++11: clang refuses it"
        yield RULE.finding(src, Span(end, name.end()), message, [Edit(Span(end, end), b" ")])
