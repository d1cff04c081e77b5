"""Spellings only nvcc accepts

What: launches written `<< <grid, block>> >`, and `operator() __device__ (...)`.
Why: clang reads `<< <` as two operators, and wants __device__ before the declarator.
Fix: `<<<` and `>>>`; the attribute moved to the front is a person's (its place depends on the declaration). Both are
  right for nvcc as well.
Source: rules catalogue row 61; https://docs.scale-lang.com/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.rules.reading import punctuation, text_at, words

if TYPE_CHECKING:
    from kernel_pytorch.port.cuda.unit import Unit
    from kernel_pytorch.port.source import SourceFile

RULE = Rule(
    "KP260",
    "nvcc-dialect",
    languages=("cuda",),
    safety=Safety.SAFE,
    triggers=(b"<< <", b"<<  <", b"< <<", b">> >", b"> >>", b"operator"),
)

_SPLIT = re.compile(rb"<<[ \t]+<|<[ \t]+<<")


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each split launch bracket, and each attribute in the wrong place."""
    if _SPLIT.search(src.data):
        yield from _launches(src)
    for index in words(src).get(b"operator", ()):
        if (
            text_at(src, index + 1) == b"("
            and text_at(src, index + 2) == b")"
            and text_at(src, index + 3) == b"__device__"
        ):
            span = Span(src.code[index].start, src.code[index + 3].end)
            yield RULE.finding(src, span, "operator() __device__: clang wants the attribute before the declaration")


def _launches(src: SourceFile) -> Iterator[Finding]:
    for index in punctuation(src, b"<<"):
        if text_at(src, index + 1) != b"<" or (
            src.code[index - 1].kind != "identifier" and text_at(src, index - 1) != b">"
        ):
            continue
        end = _closing_brackets(src, index + 2)
        if end is None:
            continue
        opening = Span(src.code[index].start, src.code[index + 1].end)
        closing = Span(src.code[end].start, src.code[end + 1].end)
        edits = [Edit(opening, b"<<<"), Edit(closing, b">>>")]
        yield RULE.finding(src, opening, "a launch written `<< <`: clang reads two operators", edits)


def _closing_brackets(src: SourceFile, start: int) -> int | None:
    """Index of the `>>` of `>> >(` that ends the launch."""
    for index in range(start, min(start + 400, len(src.code))):
        text = text_at(src, index)
        if text in (b";", b"{", b"}"):
            return None
        if text == b">>" and text_at(src, index + 1) == b">" and text_at(src, index + 2) == b"(":
            return index
    return None
