"""#if conditions as trees, evaluated with three values: true, false, not known (None)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.directives import Directive
from kernel_pytorch.port.cxx.lexer import integer_value
from kernel_pytorch.port.cxx.source import CxxFile


@dataclass(frozen=True)
class Atom:
    """`defined(X)`, a bare name, or `X op number` (turned round if written the other way)."""

    macro: bytes
    operator: str  # "defined", "value" or a comparison
    number: int
    span: Span


@dataclass(frozen=True)
class Literal:
    """`0`, `1`, `2 > 1`: the same for every compiler."""

    truth: bool


@dataclass(frozen=True)
class Opaque:
    """Anything else: its value is not known."""

    span: Span


@dataclass(frozen=True)
class Not:
    """`!x`."""

    inner: Condition


@dataclass(frozen=True)
class Every:
    """`a && b && ...`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Some:
    """`a || b || ...`."""

    parts: tuple[Condition, ...]


Condition = Atom | Literal | Opaque | Not | Every | Some

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_SPELLED = {b"and": b"&&", b"or": b"||", b"not": b"!"}
_ENDS_OPERAND = (b"", b"&&", b"||", b")")


def parse_condition(src: CxxFile, directive: Directive) -> Condition | None:
    """The condition of an #if, #elif, #ifdef or #ifndef; None where it does not parse."""
    tokens = [(src.data[token.start : token.end], token.start, token.end) for token in directive.tokens]
    if not tokens:
        return None
    if directive.name in (b"ifdef", b"ifndef", b"elifdef", b"elifndef"):
        atom = Atom(tokens[0][0], "defined", 0, Span(tokens[0][1], tokens[0][2]))
        return Not(atom) if directive.name.endswith(b"ifndef") else atom
    if any(text == b"?" for text, _, _ in tokens):
        return None
    parser = _Parser([(_SPELLED.get(text, text), start, end) for text, start, end in tokens])
    try:
        tree = parser.either()
    except (IndexError, RecursionError):
        return None
    return tree if parser.at == len(tokens) else None


class _Parser:
    def __init__(self, tokens: list[tuple[bytes, int, int]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.closes = _brackets(tokens)

    def peek(self, ahead: int = 0) -> bytes:
        index = self.at + ahead
        return self.tokens[index][0] if index < len(self.tokens) else b""

    def either(self) -> Condition:
        parts = [self.both()]
        while self.peek() == b"||":
            self.at += 1
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def both(self) -> Condition:
        parts = [self.primary()]
        while self.peek() == b"&&":
            self.at += 1
            parts.append(self.primary())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def primary(self) -> Condition:
        start = self.at
        while self.peek() == b"!":
            self.at += 1
        negations = self.at - start
        if self.peek() == b"(" and self._is_group():
            self.at += 1
            tree = self.either()
            if self.peek() != b")":
                raise IndexError
            self.at += 1
        elif self.peek() == b"defined":
            tree = self._defined()
        else:
            tree = self.comparison()
            if negations and isinstance(tree, Atom) and tree.operator != "value":
                # `!X > 5` compares the negation.
                return Opaque(tree.span)
        return Not(tree) if negations % 2 else tree

    def _is_group(self) -> bool:
        """Whether the parenthesis holds a whole condition, and nothing but a logical operator follows it."""
        following = self.closes[self.at] + 1
        return (self.tokens[following][0] if following < len(self.tokens) else b"") in _ENDS_OPERAND

    def comparison(self) -> Condition:
        start = self.at
        depth = 0
        while self.at < len(self.tokens):
            text = self.peek()
            if depth == 0 and text in (b"&&", b"||", b")"):
                break
            depth += (text == b"(") - (text == b")")
            self.at += 1
        if self.at == start:
            raise IndexError
        return _classified(self.tokens[start : self.at])

    def _defined(self) -> Condition:
        start = self.tokens[self.at][1]
        if self.peek(1) == b"(" and self.peek(3) == b")":
            name, end, self.at = self.peek(2), self.tokens[self.at + 3][2], self.at + 4
        else:
            name, end, self.at = self.peek(1), self.tokens[self.at + 1][2], self.at + 2
        return Atom(name, "defined", 0, Span(start, end))


def _brackets(tokens: list[tuple[bytes, int, int]]) -> dict[int, int]:
    """Each opening parenthesis with the one that closes it, or the end."""
    closes: dict[int, int] = {}
    opened: list[int] = []
    for index, (text, _, _) in enumerate(tokens):
        if text == b"(":
            opened.append(index)
        elif text == b")" and opened:
            closes[opened.pop()] = index
    return closes | dict.fromkeys(opened, len(tokens))


def _classified(tokens: list[tuple[bytes, int, int]]) -> Condition:
    span = Span(tokens[0][1], tokens[-1][2])
    texts = [text for text, _, _ in tokens if text not in (b"(", b")")]
    if len(texts) == 1:
        return _single(texts[0], span)
    if len(texts) == 3 and (operator := texts[1].decode("latin-1")) in _TURNED:
        left, right = texts[0], texts[2]
        first, second = integer_value(left), integer_value(right)
        if first is not None and second is not None:
            return Literal(compare(first, operator, second))
        if _is_name(left) and second is not None:
            return Atom(left, operator, second, span)
        if _is_name(right) and first is not None:
            return Atom(right, _TURNED[operator], first, span)
    return Opaque(span)


def _single(text: bytes, span: Span) -> Condition:
    if text in (b"true", b"false"):
        return Literal(text == b"true")
    if _is_name(text):
        return Atom(text, "value", 0, span)
    number = integer_value(text)
    return Opaque(span) if number is None else Literal(number != 0)


def _is_name(text: bytes) -> bool:
    return re.fullmatch(rb"[A-Za-z_]\w*", text) is not None


def evaluate(tree: Condition, value: Callable[[Atom], bool | None]) -> bool | None:
    """The truth of a condition, given that of its atoms."""
    if isinstance(tree, Atom):
        return value(tree)
    if isinstance(tree, Literal):
        return tree.truth
    if isinstance(tree, Opaque):
        return None
    if isinstance(tree, Not):
        inner = evaluate(tree.inner, value)
        return None if inner is None else not inner
    truths = [evaluate(part, value) for part in tree.parts]
    decisive = isinstance(tree, Some)
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


def atoms(tree: Condition) -> Iterator[Atom | Opaque]:
    """The leaves that a compiler decides, left to right."""
    if isinstance(tree, (Atom, Opaque)):
        yield tree
    elif isinstance(tree, Not):
        yield from atoms(tree.inner)
    elif isinstance(tree, (Every, Some)):
        for part in tree.parts:
            yield from atoms(part)


def compare(left: int, operator: str, right: int) -> bool:
    """A preprocessor comparison."""
    return {
        "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right,
        "==": left == right, "!=": left != right,
    }[operator]  # fmt: skip
