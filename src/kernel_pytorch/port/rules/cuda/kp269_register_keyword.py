"""The `register` keyword

What: `register` before a declaration in CUDA source.
Why: nvcc ignores it. C++17 took it out of the language, and clang refuses it.
Fix: kpt removes the word.
Source: https://eel.is/c++draft/diff.cpp14.dcl.dcl
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP269", "register-keyword", languages=("cuda",), safety=Safety.SAFE, triggers=(b"register",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each `register` that a type follows. A .c file keeps it: there it is still C."""
    if src.path.endswith(".c"):
        return
    code = src.code
    for index in words(src).get(b"register"):
        if index + 1 < len(code) and code[index + 1].kind == "identifier":
            span = Span(code.starts[index], code.starts[index + 1])
            if b"\n" not in src.data[span.start : span.end]:
                yield RULE.finding(src, span, "register is not C++17: clang refuses it", [Edit(span, b"")])
