"""Static texture references

What: `static texture<...> name;` at file scope.
Why: clang gives the device's copy of a static texture reference no symbol, so HIP's runtime cannot find it when the
    program binds the texture: cudaBindTexture returns hipErrorInvalidSymbol.
Fix: kpt removes `static` on AMD. Two files that use one name for such a reference then fail to link.
Source: clang/lib/CodeGen/CGCUDANV.cpp in llvm/llvm-project (registerDeviceTex). The symbol table of a build for gfx942
    shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP298", "static-texture-reference", languages=("cuda",), safety=Safety.SAFE, triggers=(b"texture",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each `static` right before a texture reference's type."""
    code = src.code
    for token, kind, bracket in zip(code, code[1:], code[2:], strict=False):
        if src.text(kind) != b"texture" or src.text(token) != b"static" or src.text(bracket) != b"<":
            continue
        span = Span(token.start, kind.start)
        if b"\n" not in src.data[span.start : span.end]:
            yield RULE.finding(src, span, "HIP's runtime does not find a static texture reference", [Edit(span, b"")])
