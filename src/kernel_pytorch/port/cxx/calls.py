"""Calls of functions by name, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import CLOSING, OPENING, closing, text_at, words


@dataclass(frozen=True)
class Call:
    """A name followed by parentheses. `arguments` are spans without surrounding white space."""

    name: bytes
    index: int
    span: Span
    arguments: tuple[Span, ...]

    def argument(self, src: CxxFile, number: int) -> bytes:
        """The text of one argument."""
        span = self.arguments[number]
        return src.data[span.start : span.end]


def calls(src: CxxFile, *names: bytes) -> Iterator[Call]:
    """Calls of the named functions, in the order of the file. Members and definitions of that name are left out."""
    known = words(src)
    uses = [(index, name) for name in names for index in known.get(name, ())]
    for index, name in sorted(uses):
        if text_at(src, index - 1) in (b".", b"->") or text_at(src, index + 1) != b"(":
            continue
        close = closing(src, index + 1)
        if close is None or text_at(src, close + 1) == b"{" or _is_declaration(src, index):
            continue
        yield Call(
            name, index, Span(src.code[index].start, src.code[close].end), split_arguments(src, index + 1, close)
        )


_NOT_A_TYPE = frozenset({b"return", b"else", b"do", b"case", b"throw", b"co_return", b"and", b"or", b"not"})


def _is_declaration(src: CxxFile, index: int) -> bool:
    """`float __ldcs(const float*)`: a word or a pointer star straight before the name declares it."""
    if src.code[index - 1].kind != "identifier" if index else True:
        return False
    before = text_at(src, index - 1)
    if before in _NOT_A_TYPE or is_in_directive(src, src.code[index].start):
        return False
    # A call starts a statement after a macro in capitals, as in `CHECK cudaMalloc(...)`: no such thing is a type.
    return not before.isupper()


def split_arguments(src: CxxFile, opening: int, close: int) -> tuple[Span, ...]:
    """The spans between the commas of a bracket. Commas inside template brackets are not told apart by depth alone."""
    spans: list[Span] = []
    depth = angle = 0
    first = last = None
    for index in range(opening + 1, close):
        token = src.code[index]
        text = text_at(src, index) if token.kind == "punct" else b""
        if text in OPENING:
            depth += 1
        elif text in CLOSING:
            depth -= 1
        elif depth == 0 and text == b"<" and _opens_template(src, index, close):
            angle += 1
        elif depth == 0 and angle and text in (b">", b">>"):
            angle = max(0, angle - len(text))
        elif text == b"," and depth == 0 and angle == 0:
            if first is not None and last is not None:
                spans.append(Span(first, last))
            first = last = None
            continue
        if text == b"\\":
            continue
        if first is None:
            first = token.start
        last = token.end
    if first is not None and last is not None:
        spans.append(Span(first, last))
    return tuple(spans)


_TEMPLATE_TOKENS = 300


def _opens_template(src: CxxFile, index: int, close: int) -> bool:
    """Whether `<` after a name is closed by `>` before the bracket ends, with nothing but a type list between."""
    if src.code[index - 1].kind != "identifier":
        return False
    depth = 0
    for inner in range(index, min(close, index + _TEMPLATE_TOKENS)):
        text = text_at(src, inner)
        if text == b"<":
            depth += 1
        elif text in (b">", b">>"):
            depth -= len(text)
            if depth <= 0:
                return True
        elif text in (b"&&", b"||", b";", b"{", b"=", b"+", b"==") or (text == b"(" and depth == 0):
            return False
    return False
