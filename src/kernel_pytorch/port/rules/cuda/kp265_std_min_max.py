"""std::min and std::max in files that torch hipifies

What: `std::min(` and `std::max(` outside device code, in a .cu or .cuh file that includes torch, ATen or c10.
Why: torch's renaming at build time turns them into `::min(` and `::max(`. On the host HIP has those for `int` alone:
    64-bit numbers are cut to 32 bits without a warning, and other types do not compile.
Fix: `(std::min)(`, which that renaming does not recognise and C++ reads the same. kpt leaves two plain `int`s alone.
Source: torch/utils/hipify/hipify_python.py in pytorch/pytorch (replace_math_functions);
    clang/lib/Headers/__clang_hip_math.h in llvm/llvm-project (the host's min and max);
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP265", "std-min-max", languages=("cuda",), safety=Safety.SAFE, triggers=(b"std::min(", b"std::max("))

_TORCH = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10)/", re.MULTILINE)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each use that torch's renaming would break."""
    if not src.path.endswith((".cu", ".cuh")) or not _TORCH.search(src.data):
        return
    for name in (b"min", b"max"):
        for index in words(src).get(name, ()):
            first = index - 2
            if text_at(src, index - 1) != b"::" or text_at(src, first) != b"std" or text_at(src, index + 1) != b"(":
                continue
            span = Span(src.code[first].start, src.code[index].end)
            if src.data[span.start : span.end] != b"std::" + name or text_at(src, first - 1) == b"::":
                continue
            region = device_region_at(src, span.start)
            if (region is not None and not region.is_host_too) or is_in_directive(src, span.start):
                continue
            if _are_ints(src, index + 1):
                continue
            text = f"std::{name.decode()}"
            message = (
                f"{text}( becomes ::{name.decode()}( when torch hipifies this file, which the host has for int only"
            )
            yield RULE.finding(src, span, message, [Edit(span, f"({text})".encode())])


def _are_ints(src: CxxFile, opening: int) -> bool:
    """Whether everything in the brackets is of type int, as far as the file's own declarations show."""
    end = closing(src, opening)
    if end is None:
        return False
    ints, others = _declared(src)
    for index in range(opening + 1, end):
        token, text = src.code[index], text_at(src, index)
        if token.kind == "number" and not text.isdigit():
            return False
        if token.kind == "identifier" and text not in (b"int", b"static_cast", b"std", b"min", b"max"):
            is_member = text_at(src, index - 1) in (b".", b"->", b"::")
            if is_member or text not in ints or text in others:
                return False
        if token.kind not in ("number", "identifier") and text not in _OPERATORS:
            return False
    return True


_OPERATORS = frozenset((b"(", b")", b",", b"+", b"-", b"*", b"/", b"%", b"<", b">", b"<<", b">>", b"::"))
_DECLARATION = re.compile(
    rb"\b([A-Za-z_][\w:]*)(?:<[^<>;(){}]*>)?[ \t\n]*[&*]?[ \t\n]+[&*]?([A-Za-z_]\w*)[ \t\n]*[=;,(){\[]"
)
_NO_TYPES = frozenset((b"return", b"else", b"case", b"goto", b"new", b"delete", b"throw", b"using", b"namespace"))


@lru_cache(maxsize=2)
def _declared(src: CxxFile) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The names that the file declares as int (variables, parameters, functions), and those of any other type."""
    ints: set[bytes] = set()
    others: set[bytes] = set()
    for kind, name in _DECLARATION.findall(src.data):
        if kind not in _NO_TYPES:
            (ints if kind in (b"int", b"int32_t", b"std::int32_t") else others).add(name)
    return frozenset(ints), frozenset(others)
