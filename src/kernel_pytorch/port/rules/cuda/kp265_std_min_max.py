"""std::min and std::max in files that torch hipifies

What: `std::min(` and `std::max(` outside device code, in a .cu or .cuh file that includes torch, ATen or c10.
Why: torch's build-time renaming turns them into `::min(` and `::max(`, which do not exist in the host pass.
Fix: `(std::min)(`, which that renaming does not recognise and C++ reads the same.
Source: rules catalogue row 72; torch/utils/hipify/hipify_python.py (replace_math_functions)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import text_at, words
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
            text = f"std::{name.decode()}"
            message = (
                f"{text}( becomes ::{name.decode()}( when torch hipifies this file, which the host pass does not have"
            )
            yield RULE.finding(src, span, message, [Edit(span, f"({text})".encode())])
