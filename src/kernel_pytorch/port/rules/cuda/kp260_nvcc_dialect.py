"""Spellings that only nvcc accepts

What: Launches written `<< <grid, block>> >` or `<<<grid, {32, 8}>>>`, `operator() __device__ (...)`, and
    `Type<T>::member<N>(...)`, `typename Type<T>::member<U>` or, in a template, `object.member<N>(...)` without the word
    `template` where the member is a template.
Why: clang reads `<< <` as two operators, takes no list in braces for a grid or a block, and expects __device__ before
    the declarator. As the standard says, it reads `<` behind a name that depends on a template parameter as "less".
Fix: `<<<` and `>>>`, `dim3{32, 8}`, and `Type<T>::template member<N>(...)`. Moving the attribute to the front is left
    to you, because its place depends on the declaration. All of this is right for nvcc as well.
Source: https://docs.scale-lang.com/; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import split_arguments
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
    triggers=(b"<<<", b"<< <", b"<<  <", b"< <<", b">> >", b"> >>", b"operator", b">::", b"template"),
)

_SPLIT = re.compile(rb"<<[ \t]+<|<[ \t]+<<")
_LISTED = re.compile(rb"<<<[^;{}]{0,200}\{")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each split launch bracket, and each attribute in the wrong place."""
    if _SPLIT.search(src.data):
        yield from _launches(src)
    if _LISTED.search(src.data):
        yield from _listed(src)
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
    for found in _MEMBER_TEMPLATE.finditer(src.data):
        yield from _dependent_type(src, found)


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


# `typename A<T>::name<`: in a type, `<` behind a name is a bracket.
_MEMBER_TEMPLATE = re.compile(rb">::[ \t]*([A-Za-z_]\w*)[ \t]*<")
_LONGEST_TYPE = 60


def _dependent_type(src: CxxFile, found: re.Match[bytes]) -> Iterator[Finding]:
    at = src.code.index_of(found.start(1), found.end(1))
    if at is None or found[1] == b"template":
        return
    start, depth = at - 2, 0
    while start > max(0, at - _LONGEST_TYPE):
        text = text_at(src, start)
        if text.startswith((b">", b"<")):
            depth += len(text) if text.startswith(b">") else -len(text)
        elif text in (b";", b"{", b"}"):
            return
        if not depth and src.code[start].kind == "identifier":
            if text_at(src, start - 1) == b"typename":
                span = Span(found.start(1), found.end(1))
                message = (
                    f"{found[1].decode()} is a member template of a dependent type: clang wants `template` before it"
                )
                yield RULE.finding(src, span, message, [Edit(span, b"template " + found[1])])
            if text_at(src, start - 1) != b"::":
                return
        start -= 1


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


def _listed(src: CxxFile) -> Iterator[Finding]:
    """Grids and blocks that are lists in braces."""
    for index in punctuation(src, b"<<<"):
        stops = (at for at in range(index + 1, min(index + 200, len(src.code))) if text_at(src, at) in (b">>>", b"<<<"))
        end = next(stops, None)
        if end is None or text_at(src, end) != b">>>":
            continue
        for argument in split_arguments(src, index, end)[:2]:
            if src.data[argument.start : argument.start + 1] == b"{":
                message = "a list in braces for a grid or a block: clang wants the type before it"
                yield RULE.finding(src, argument, message, [Edit(Span(argument.start, argument.start), b"dim3")])


def _closing_brackets(src: CxxFile, start: int) -> int | None:
    """Index of the `>>` of `>> >(` that ends the launch."""
    for index in range(start, min(start + 400, len(src.code))):
        text = text_at(src, index)
        if text in (b";", b"{", b"}"):
            return None
        if text == b">>" and text_at(src, index + 1) == b">" and text_at(src, index + 2) == b"(":
            return index
    return None
