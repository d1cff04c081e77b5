"""__shared__ variables: a reference to the block's own storage takes the place of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernel_pytorch.emulate.source.structure import Structure, Unsupported, closing
from kernel_pytorch.emulate.source.tokens import Token

_Edit = tuple[int, int, str]
_OPEN = ("(", "[", "{")


def shared_edits(
    code: Sequence[Token], shape: Structure, place: Callable[[Token], tuple[str, int]]
) -> tuple[list[_Edit], set[int], list[Unsupported]]:
    """Edits, the tokens they cover, and what cannot be had."""
    edits: list[_Edit] = []
    handled: set[int] = set()
    refused: list[Unsupported] = []
    for index, token in enumerate(code):
        if token.text != "__shared__" or index in handled:
            continue
        first, last = _declaration(code, index)
        inside = range(first, last + 1)
        external = any(code[i].text == "extern" for i in inside)
        names = _declarators(code, first, last)
        if not names:
            continue
        handled.update(inside)
        if shape.in_function(index):
            edits += _local(code, first, last, names, external)
        elif external and len(names) == 1:
            edits += _at_namespace_scope(code, first, last, names[0])
        else:
            path, line = place(token)
            refused.append(Unsupported(path, line, f"__shared__ {code[names[0]].text} outside a function"))
    return edits, handled, refused


def _declaration(code: Sequence[Token], at: int) -> tuple[int, int]:
    first = at
    while first > 0:
        before = code[first - 1]
        if before.text in (";", "{", "}", ":"):
            break
        if before.text == ")":
            # Only attributes may stand before the type.
            depth, opening = 0, first - 1
            while opening >= 0:
                depth += (code[opening].text == ")") - (code[opening].text == "(")
                if depth == 0:
                    break
                opening -= 1
            if code[opening - 1].text not in ("__attribute__", "alignas", "__align__"):
                break
            first = opening - 1
            continue
        first -= 1
    last = at
    while last + 1 < len(code) and code[last].text != ";":
        last = closing(code, last) + 1 if code[last].text in _OPEN else last + 1
    return first, last


def _declarators(code: Sequence[Token], first: int, last: int) -> list[int]:
    """The token of each declared name."""
    names: list[int] = []
    candidate: int | None = None
    angles = 0
    index = first
    fixed = False
    while index <= last:
        text = code[index].text
        if text in _OPEN:
            if text == "[":
                fixed = True
            index = closing(code, index) + 1
            continue
        if text in ("<", ">"):
            angles += 1 if text == "<" else -1
        elif angles == 0 and text in (",", ";"):
            if candidate is not None:
                names.append(candidate)
            candidate, fixed = None, False
        elif angles == 0 and code[index].kind == "name" and not fixed and text != "__attribute__":
            candidate = index
        index += 1
    return names


def _local(code: Sequence[Token], first: int, last: int, names: Sequence[int], external: bool) -> list[_Edit]:
    edits: list[_Edit] = [(code[first].start, code[first].start, "typedef ")]
    skip = first
    for index in range(first, last):
        text = code[index].text
        if index < skip:
            continue
        if text in ("extern", "static", "__shared__", "constexpr", "__device__"):
            edits.append((code[index].start, code[index].end, ""))
        elif text == "alignas" and code[index + 1].text == "(":
            skip = closing(code, index + 1) + 1
            edits.append((code[index].start, code[skip - 1].end, ""))
        elif index in names:
            edits.append((code[index].start, code[index].end, f"kpt_t_{text}"))
    made = []
    for at in names:
        name = code[at].text
        if external:
            made.append(f" kpt_t_{name} &{name} = ::kpt::dynamic_shared<kpt_t_{name}>();")
        else:
            made.append(
                f" static int kpt_slot_{name}; kpt_t_{name} &{name} = "
                f'::kpt::shared<kpt_t_{name}>(&kpt_slot_{name}, "{name}");'
            )
    edits.append((code[last].end, code[last].end, "".join(made)))
    return edits


def _at_namespace_scope(code: Sequence[Token], first: int, last: int, name: int) -> list[_Edit]:
    words = []
    skip = first
    for index in range(first, name):
        if index < skip:
            continue
        text = code[index].text
        if text in ("__attribute__", "alignas"):
            skip = closing(code, index + 1) + 1
        elif text not in ("extern", "static", "__shared__"):
            words.append(text)
    made = f"static ::kpt::DynamicArray<{' '.join(words)}> {code[name].text};"
    return [(code[first].start, code[last].end, made)]
