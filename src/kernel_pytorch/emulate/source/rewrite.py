"""CUDA's additions to C++ as plain C++: launches, __shared__ variables, qualifiers. Lines stay where they are.

Works on preprocessed text, so that macros, conditionals and includes are what the compiler sees.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.emulate.source.shared_variables import shared_edits
from kernel_pytorch.emulate.source.structure import Structure, Unsupported, closing, edited, structure
from kernel_pytorch.emulate.source.tokens import Token, place_of, regions, tokens

_DROPPED = frozenset({"__global__", "__device__", "__host__", "__constant__", "__managed__", "__grid_constant__"})
_DROPPED_WITH_ARGUMENTS = frozenset({"__launch_bounds__", "__maxnreg__"})
_REPLACED = {"__forceinline__": "__inline__", "__noinline__": "__attribute__((noinline))"}
_DEVICE_HEAP = frozenset({"malloc", "free", "calloc", "memcpy", "memset", "memmove"})
_BEFORE_CALL = frozenset({"return", "else", "do", "case", "throw", "co_return"})


@dataclass(frozen=True)
class Rewritten:
    """The C++ text, and what it could not have."""

    text: str
    unsupported: tuple[Unsupported, ...]


def rewrite(text: str) -> Rewritten:
    """Rewrite preprocessed CUDA."""
    parts = regions(text)
    code = tokens(text, parts)
    shape = structure(code)
    refused: list[Unsupported] = []
    edits: list[tuple[int, int, str]] = []

    def place(token: Token) -> tuple[str, int]:
        return place_of(token.start, text, parts)

    shared, handled, problems = shared_edits(code, shape, place)
    edits += shared
    refused += problems
    launched: set[int] = set()
    for index, token in enumerate(code):
        if token.text == "<<<" and shape.in_kernel(index):
            refused.append(Unsupported(*place(token), "a launch from device code (dynamic parallelism)"))
        elif token.text == "<<<":
            edits += _launch(code, shape, index, place(token), text, launched)
    for index, token in enumerate(code):
        if token.kind != "name" or index in handled:
            continue
        name = token.text
        after = code[index + 1].text if index + 1 < len(code) else ""
        before = code[index - 1].text if index else ""
        if name in _DROPPED:
            edits.append((token.start, token.end, ""))
        elif name in _DROPPED_WITH_ARGUMENTS and after == "(":
            end = code[closing(code, index + 1)].end
            edits.append((token.start, end, "\n" * text.count("\n", token.start, end)))
        elif name in _REPLACED and before != "(":
            edits.append((token.start, token.end, _REPLACED[name]))
        elif name in _DEVICE_HEAP and after == "(" and _is_call(code, index):
            edits.append((token.start, token.end, f"::kpt_{name}"))
        elif name in ("asm", "__asm__", "__asm") and _is_assembly(code, index):
            refused.append(Unsupported(*place(token), f"inline PTX: {_first_string(code, index)}"))
        elif name == "__cluster_dims__":
            refused.append(Unsupported(*place(token), name))
        elif name in shape.kernels and index not in launched and index not in shape.declared:
            edits += _as_value(code, shape, index)
    return Rewritten(edited(text, edits), tuple(refused))


def _launch(
    code: Sequence[Token], shape: Structure, at: int, place: tuple[str, int], text: str, launched: set[int]
) -> list[tuple[int, int, str]]:
    first, name_at = _callee(code, at)
    if name_at is not None:
        launched.add(name_at)
    last = _configuration_end(code, at)
    if first is None or last is None or code[last + 1].text != "(":
        return []
    shown = " ".join(text[code[first].start : code[at].start].split())
    site = f"::kpt::Site{{{json.dumps(shown)}, {json.dumps(place[0])}, {place[1]}}}"
    opening, end = code[last + 1], closing(code, last + 1)
    name = code[name_at].text if name_at is not None else ""
    configuration = (code[at].start, code[at].end, ", ::kpt::Config(")
    if shape.kernels.get(name) != "plain" and name in shape.kernels:
        comma = "" if end == last + 2 else ", "
        edits = [
            (code[first].start, code[first].start, f"::kpt::launch_deduced({site}, [=](auto... kpt_a) {{ "),
            (code[at].start, code[at].end, "(kpt_a...); }, ::kpt::Config("),
            (code[last - 2].start, opening.end, ")" + comma),
        ]
        # NULL has an integer's type: as an argument of its own it would not become a pointer any more.
        edits += [(t.start, t.end, "nullptr") for t in code[last + 1 : end] if t.text == "__null"]
        return edits
    return [
        (code[first].start, code[first].start, f"::kpt::launch({site}, "),
        configuration,
        (code[last - 2].start, code[last].end, "))"),
    ]


def _callee(code: Sequence[Token], at: int) -> tuple[int | None, int | None]:
    """First token of the expression before `<<<`, and the token of the kernel's name in it."""
    index = at - 1
    named: int | None = None
    if code[index].text == ")":
        start = _opening(code, index, "(", ")")
        inner = [i for i in range(start, index) if code[i].kind == "name"]
        index, named = start, inner[0] if inner else None
        for i in inner:
            if code[i + 1].text in ("<", ")"):
                named = i
                break
        if code[index - 1].kind != "name":
            return index, named
        index -= 1
    if code[index].text == "]":
        index = _opening(code, index, "[", "]") - 1
    if code[index].text == ">":
        index = _opening(code, index, "<", ">") - 1
    if code[index].kind != "name":
        return None, None
    named = named if named is not None else index
    while code[index - 1].text in ("::", ".", "->"):
        index -= 1
        if code[index - 1].kind == "name":
            index -= 1
        elif code[index - 1].text == ">":
            index = _opening(code, index - 1, "<", ">") - 1
        else:
            break
    return index, named


def _opening(code: Sequence[Token], at: int, opening: str, close: str) -> int:
    depth = 0
    index = at
    while index >= 0:
        text = code[index].text
        if close == ">" and text in (")", "]") and index != at:
            index = _opening(code, index, {")": "(", "]": "["}[text], text) - 1
            continue
        if text == close:
            depth += 1
        elif text == opening:
            depth -= 1
            if depth == 0:
                return index
        index -= 1
    return 0


def _configuration_end(code: Sequence[Token], at: int) -> int | None:
    """The last `>` of the `>>>` that closes a launch."""
    index = at + 1
    while index + 3 < len(code):
        text = code[index].text
        if text in ("(", "[", "{"):
            index = closing(code, index) + 1
            continue
        if text == ">" and code[index + 1].text == ">" and code[index + 2].text == ">" and code[index + 3].text == "(":
            adjacent = code[index].end == code[index + 1].start and code[index + 1].end == code[index + 2].start
            if adjacent:
                return index + 2
        if text == ";":
            return None
        index += 1
    return None


def _as_value(code: Sequence[Token], shape: Structure, index: int) -> list[tuple[int, int, str]]:
    """A kernel's name as a value: the runtime must know how to call what may become a plain pointer."""
    name = code[index].text
    kind = shape.kernels[name]
    end = index
    if code[index + 1].text == "<" and kind == "template":
        depth = 0
        for i in range(index + 1, len(code)):
            depth += (code[i].text == "<") - (code[i].text == ">")
            if depth == 0:
                end = i
                break
    if kind == "overloaded" or (kind == "template" and end == index) or code[end + 1].text in ("(", "::", "<<<"):
        return []
    start = index
    while code[start - 1].text == "::" and code[start - 2].kind == "name":
        start -= 2
    before = code[start - 1]
    if before.text in ("template", ".", "->") or (before.kind == "name" and before.text not in _BEFORE_CALL):
        return []
    if before.text == "(" and code[start - 2].text in ("decltype", "sizeof"):
        return []
    edits = [
        (code[start].start, code[start].start, "::kpt::known("),
        (code[end].end, code[end].end, f", {json.dumps(name)})"),
    ]
    if before.text == "&" and code[start - 2].kind == "punct" and code[start - 2].text not in (")", "]"):
        edits.append((before.start, before.end, " "))
    return edits


def _is_call(code: Sequence[Token], index: int) -> bool:
    before = code[index - 1]
    if before.text in ("::", ".", "->", "*", "&", ">"):
        return False
    return before.kind != "name" or before.text in _BEFORE_CALL


def _is_assembly(code: Sequence[Token], index: int) -> bool:
    following = index + 1
    while code[following].text in ("volatile", "__volatile__", "inline", "goto"):
        following += 1
    return code[following].text == "("


def _first_string(code: Sequence[Token], index: int) -> str:
    return next((token.text for token in code[index : index + 8] if token.kind == "string"), "")
