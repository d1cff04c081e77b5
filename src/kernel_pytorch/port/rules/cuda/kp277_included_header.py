"""Code that asks whether a CUDA header was included

What: `#ifdef __DRIVER_TYPES_H__`, `#if defined(CUBLAS_API_H_)` and the like: the include guard of a CUDA header, or a
    macro that only this header defines (`CUSPARSEAPI`), in a preprocessor condition.
Why: HIP's headers have other guards, so the test is false on AMD. The code inside it, often the whole error handling of
    a project, disappears without a message.
Fix: kpt changes the test to the guard of the HIP header. If that header has none (`#pragma once`), you decide. A test
    for a header without a counterpart (nvjpeg.h, npp.h) stays: nothing includes it on AMD, so false is right.
Source: The headers of CUDA 11 to 13 and of ROCm 7.2, read here (port/tables/header_guards.csv);
    https://github.com/NVIDIA/cuda-samples/blob/master/Common/helper_cuda.h
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import is_rocm_macro
from kernel_pytorch.port.cxx.directives import Directive, directives
from kernel_pytorch.port.names.table import header_rows
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.tables import read_table

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

# Every guard of the table has one of these pieces; which of them are guards, `check` decides.
RULE = Rule(
    "KP277", "included-header", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"_H_", b"_h_", b"API")
)


@lru_cache(maxsize=1)
def _guards() -> dict[bytes, tuple[bytes, str]]:
    """CUDA's macro -> HIP's guard (empty where there is none) and the CUDA header."""
    return {row["cuda"].encode(): (row["hip"].encode(), row["header"]) for row in read_table("header_guards.csv")}


def _is_on_amd(macro: bytes) -> bool:
    """Whether a macro stands for a header that AMD has a counterpart of."""
    guard, header = _guards().get(macro, (b"", ""))
    row = header_rows().get(header)
    return bool(guard) or (row is not None and bool(row.hip))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each condition that names the guard of a CUDA header and does not know HIP."""
    if src.vocabulary.isdisjoint(_guards()):
        return
    own = {src.text(one.tokens[0]) for one in directives(src) if one.name == b"define" and one.tokens}
    for directive in directives(src):
        if directive.name in (b"if", b"elif", b"ifdef", b"ifndef"):
            yield from _asked(src, directive, own)


def _asked(src: CxxFile, directive: Directive, own: set[bytes]) -> Iterator[Finding]:
    texts = [src.text(token) for token in directive.tokens]
    # A file that defines the macro is the header itself, or a copy of it.
    asked = [text for text in dict.fromkeys(texts) if text not in own and _is_on_amd(text)]
    if not asked or any(map(is_rocm_macro, texts)):
        return
    missing = next((text for text in asked if not _guards()[text][0]), None)
    header = _guards()[missing or asked[0]][1]
    message = f"{(missing or asked[0]).decode()} asks whether {header} was included: HIP's header does not define it"
    if missing is not None:
        yield RULE.finding(src, directive.span, f"{message}, nor any guard", safety=Safety.MANUAL)
        return
    edits = [
        Edit(Span(token.start, token.end), _guards()[text][0])
        for token, text in zip(directive.tokens, texts, strict=True)
        if text in asked
    ]
    yield RULE.finding(src, directive.span, message, edits)
