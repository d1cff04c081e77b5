"""half2 functions that HIP does not have

What: The fused __hfma_relu forms, and the __h..2_mask comparisons (__heq2_mask, __hgtu2_mask ...) of bfloat16.
Why: HIP's fp16 header has no such functions. (The members .x and .y of half2 need no change: older HIP had them as
    unsigned short, and since ROCm 6 they are halves.)
Fix: kpt writes the masks of half2 into the file that calls them, made from the comparisons of the two halves. Write
    the rest yourself: __hfma and then a comparison with zero, or the comparison of the two halves of a bfloat162.
Source: hip/amd_detail/amd_hip_fp16.h, ROCm 7.2; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP257", "half2-mask-functions", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"2_mask", b"_relu"))

_MISSING = re.compile(rb"__hfma2?_relu\Z|__hcmadd\Z")
_MASK = re.compile(rb"__h(?:eq|ne|le|ge|lt|gt)u?2_mask\Z")
_BFLOAT16 = re.compile(rb"\b(?:__)?(?:nv_)?bfloat162\b")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each call that the project does not define itself."""
    for name, indexes in words(src).items():
        is_missing = _MISSING.match(name) or (_MASK.match(name) and _BFLOAT16.search(src.data))
        if not is_missing or name in unit.macros or unit.functions(name):
            continue
        for index in indexes:
            if text_at(src, index + 1) == b"(":
                token = src.code[index]
                yield RULE.finding(
                    src, Span(token.start, token.end), f"{name.decode('utf-8', 'replace')} is not in HIP's fp16 header"
                )
