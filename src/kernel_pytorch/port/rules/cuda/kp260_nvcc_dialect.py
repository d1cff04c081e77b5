"""Spellings that only nvcc accepts

What: Launches written `<< <grid, block>> >`, `operator() __device__ (...)`, and `Type<T>::member<N>(...)` or, in a
    template, `object.member<N>(...)` without the word `template` where the member is a template.
Why: clang reads `<< <` as two operators and expects __device__ before the declarator. As the standard says, it reads
    `<` after a name that depends on a template parameter as a comparison.
Fix: `<<<` and `>>>`, and `Type<T>::template member<N>(...)`. Moving the attribute to the front is left to you, because
    its place depends on the declaration. All of this is right for nvcc as well.
Source: https://docs.scale-lang.com/; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.tokens import punctuation, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule(
    "KP260",
    "nvcc-dialect",
    languages=("cuda",),
    safety=Safety.SAFE,
    triggers=(b"<< <", b"<<  <", b"< <<", b">> >", b"> >>", b"operator", b">::", b"template"),
)

_SPLIT = re.compile(rb"<<[ \t]+<|<[ \t]+<<")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
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
    if b">::" in src.data or b"template" in src.data:
        yield from _dependent_templates(src, unit)


# `>::name<`, and nothing that is a comparison between the two angle brackets and the call's parenthesis.
_MEMBER_TEMPLATE_CALL = re.compile(rb">::[ \t]*(?=([A-Za-z_]\w*)[ \t]*<[\w \t:,*&<>]{1,120}>[ \t]*\()")

# `object.name<`, which is dependent only inside a template.
_OBJECT_TEMPLATE_CALL = re.compile(rb"[\w\])](?:\.|->)(?=([A-Za-z_]\w*)<[\w \t:,*&<>]{1,120}>[ \t]*\()")

_TEMPLATE_FUNCTION = re.compile(rb"\btemplate\s*<[^;{}()]{0,400}>[^;{}()]{0,400}?\b([A-Za-z_]\w*)\s*\(")


def _dependent_templates(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Calls of member templates through a class template. `template` is allowed there in and outside templates."""
    matches = list(_MEMBER_TEMPLATE_CALL.finditer(src.data))
    matches += [found for found in _OBJECT_TEMPLATE_CALL.finditer(src.data) if _is_in_template(src, found.start())]
    if not matches:
        return
    # Without a template of that name in sight `<` may well be a comparison.
    declared = {name for file in unit.files for name in _TEMPLATE_FUNCTION.findall(file.data)}
    starts = {token.start for token in src.code}
    for found in matches:
        name = found.group(1)
        if name in declared and found.end() in starts:
            span = Span(found.end(), found.end(1))
            message = f"{name.decode()} is a member template of a dependent type: clang wants `template` before it"
            yield RULE.finding(src, span, message, [Edit(span, b"template " + name)])


def _is_in_template(src: CxxFile, offset: int) -> bool:
    """Whether a place is in a device function whose declaration begins with `template`."""
    region = device_region_at(src, offset)
    if region is None:
        return False
    before = max(src.data.rfind(end, 0, region.start) for end in (b";", b"}"))
    return b"template" in src.data[before + 1 : region.start]


def _launches(src: CxxFile) -> Iterator[Finding]:
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


def _closing_brackets(src: CxxFile, start: int) -> int | None:
    """Index of the `>>` of `>> >(` that ends the launch."""
    for index in range(start, min(start + 400, len(src.code))):
        text = text_at(src, index)
        if text in (b";", b"{", b"}"):
            return None
        if text == b">>" and text_at(src, index + 1) == b">" and text_at(src, index + 2) == b"(":
            return index
    return None
