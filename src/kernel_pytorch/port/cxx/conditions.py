"""#if conditions as trees, evaluated with three values: true, false, not known (None)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.reading import Branch, Conditional, Directive
from kernel_pytorch.port.source import SourceFile


@dataclass(frozen=True)
class Atom:
    """`defined(X)`, a bare name, or `X op number` (turned round if written the other way)."""

    macro: bytes
    operator: str  # "defined", "value" or a comparison
    number: int
    span: Span


@dataclass(frozen=True)
class Opaque:
    """Anything else: its value is not known."""

    span: Span


@dataclass(frozen=True)
class Not:
    """`!x`."""

    inner: Condition


@dataclass(frozen=True)
class Both:
    """`a && b`."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Either:
    """`a || b`."""

    left: Condition
    right: Condition


Condition = Atom | Opaque | Not | Both | Either

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def parse_condition(src: SourceFile, directive: Directive) -> Condition | None:
    """The condition of an #if, #elif, #ifdef or #ifndef; None where it does not parse."""
    tokens = [(src.data[token.start : token.end], token.start, token.end) for token in directive.tokens]
    if not tokens:
        return None
    if directive.name in (b"ifdef", b"ifndef", b"elifdef", b"elifndef"):
        atom = Atom(tokens[0][0], "defined", 0, Span(tokens[0][1], tokens[0][2]))
        return Not(atom) if b"n" in directive.name.removeprefix(b"el") else atom
    parser = _Parser(tokens)
    try:
        tree = parser.either()
    except (IndexError, RecursionError):
        return None
    return tree if parser.at == len(tokens) else None


class _Parser:
    def __init__(self, tokens: list[tuple[bytes, int, int]]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self, ahead: int = 0) -> bytes:
        index = self.at + ahead
        return self.tokens[index][0] if index < len(self.tokens) else b""

    def either(self) -> Condition:
        tree = self.both()
        while self.peek() == b"||":
            self.at += 1
            tree = Either(tree, self.both())
        return tree

    def both(self) -> Condition:
        tree = self.primary()
        while self.peek() == b"&&":
            self.at += 1
            tree = Both(tree, self.primary())
        return tree

    def primary(self) -> Condition:
        if self.peek() == b"!" and self.peek(1) != b"=":
            self.at += 1
            return Not(self.primary())
        if self.peek() == b"(" and self._is_group():
            self.at += 1
            tree = self.either()
            if self.peek() != b")":
                raise IndexError
            self.at += 1
            return tree
        return self.comparison()

    def _is_group(self) -> bool:
        """Whether the parenthesis holds a whole condition, and nothing but a logical operator follows it."""
        depth = 0
        for index in range(self.at, len(self.tokens)):
            text = self.tokens[index][0]
            depth += (text == b"(") - (text == b")")
            if depth == 0:
                following = self.tokens[index + 1][0] if index + 1 < len(self.tokens) else b""
                return following in (b"", b"&&", b"||", b")")
        raise IndexError

    def comparison(self) -> Condition:
        start = self.at
        if self.peek() == b"defined":
            return self._defined()
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


def _classified(tokens: list[tuple[bytes, int, int]]) -> Condition:
    span = Span(tokens[0][1], tokens[-1][2])
    texts = [text for text, _, _ in tokens if text not in (b"(", b")")]
    if len(texts) == 1 and _is_name(texts[0]):
        return Atom(texts[0], "value", 0, span)
    if len(texts) == 3:
        left, operator, right = texts[0], texts[1].decode("latin-1"), texts[2]
        if operator in _TURNED:
            if _is_name(left) and (number := _number(right)) is not None:
                return Atom(left, operator, number, span)
            if _is_name(right) and (number := _number(left)) is not None:
                return Atom(right, _TURNED[operator], number, span)
    return Opaque(span)


def _is_name(text: bytes) -> bool:
    return re.fullmatch(rb"[A-Za-z_]\w*", text) is not None


def _number(text: bytes) -> int | None:
    found = re.fullmatch(rb"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text)
    if not found:
        return None
    digits = found.group(1)
    return int(digits, 16) if digits[:2].lower() == b"0x" else int(digits)


def evaluate(tree: Condition, value: Callable[[Atom], bool | None]) -> bool | None:
    """The truth of a condition, given that of its atoms."""
    if isinstance(tree, Atom):
        return value(tree)
    if isinstance(tree, Opaque):
        return None
    if isinstance(tree, Not):
        inner = evaluate(tree.inner, value)
        return None if inner is None else not inner
    left, right = evaluate(tree.left, value), evaluate(tree.right, value)
    decisive = isinstance(tree, Either)
    if decisive in (left, right):
        return decisive
    return None if None in (left, right) else not decisive


def atoms(tree: Condition) -> Iterator[Atom | Opaque]:
    """The leaves, left to right."""
    if isinstance(tree, (Atom, Opaque)):
        yield tree
    elif isinstance(tree, Not):
        yield from atoms(tree.inner)
    else:
        yield from atoms(tree.left)
        yield from atoms(tree.right)


def compare(left: int, operator: str, right: int) -> bool:
    """A preprocessor comparison."""
    return {
        "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right,
        "==": left == right, "!=": left != right,
    }[operator]  # fmt: skip


def branch_taken(src: SourceFile, conditional: Conditional, position: int, truth: bool) -> Branch | None:
    """The branch that is compiled when the condition of branch `position` has that truth; None: no branch."""
    if truth:
        return conditional.branches[position]
    following = conditional.branches[position + 1 :]
    return following[0] if following else None


_LOOKED_AT = 1024


def branch_text(src: SourceFile, branch: Branch) -> bytes:
    """The text of a branch; of a very long one the beginning, ended by a word so that it counts as code."""
    start, end = branch.body.start, branch.body.end
    if end - start <= _LOOKED_AT:
        return src.data[start:end]
    return src.data[start : start + _LOOKED_AT] + b"\n..."


_NOTHING = re.compile(
    rb"\s+|//[^\n]*|/\*.*?\*/"
    rb"|(?:assert|__trap|trap|printf|abort|__builtin_trap|CUDA_KERNEL_ASSERT|asm|NOT_IMPLEMENTED)\w*\s*(?:volatile\s*)?\([^;]*?\)\s*;"
    rb"|static_assert\s*\([^;]*\)\s*;|return\s*;|__builtin_unreachable\s*\(\s*\)\s*;",
    re.DOTALL,
)


def is_without_work(body: bytes) -> bool:
    """Whether a branch holds nothing but comments, assertions, traps and messages, or stops the compiler."""
    if re.search(rb"^[ \t]*#[ \t]*error\b", body, re.MULTILINE):
        return True
    position = 0
    while position < len(body):
        found = _NOTHING.match(body, position)
        if not found:
            return False
        position = found.end()
    return True


def only_defines(body: bytes) -> bool:
    """Whether a branch only switches macros: the code that tests them is what matters."""
    text = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", body, flags=re.DOTALL)
    text = re.sub(rb"\\\r?\n", b" ", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(
        re.match(rb"#\s*(?:define|undef|include|pragma|if|ifdef|ifndef|else|elif|endif)\b", line) for line in lines
    )


def only_pragmas(body: bytes) -> bool:
    """Whether a branch holds nothing but #pragma lines, which a compiler that does not know them ignores."""
    text = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", body, flags=re.DOTALL)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(re.match(rb"#\s*pragma\b", line) for line in lines)
