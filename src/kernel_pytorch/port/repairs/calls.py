"""The call that a message is about: its name and its arguments, as spans of the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing, text_at, words

_BEFORE_A_CALL = frozenset((b"return", b"else", b"do", b"case", b"throw", b"and", b"or", b"not", b"co_return"))


@dataclass(frozen=True)
class Call:
    """`name(arguments)`. `whole` begins at the name's first qualifier and ends behind the bracket."""

    name: Span
    whole: Span
    arguments: tuple[Span, ...]

    def argument(self, src: CxxFile, index: int) -> bytes:
        """The text of an argument."""
        return src.data[self.arguments[index].start : self.arguments[index].end].strip()


def calls_of(src: CxxFile, names: tuple[bytes, ...], first: int, last: int) -> Iterator[Call]:
    """The calls of these names whose name lies between two offsets, in order. Template arguments are skipped."""
    found = sorted(index for name in names for index in words(src).get(name, ()))
    for index in found:
        if first <= src.code[index].start < last:
            call = _call(src, index)
            if call is not None:
                yield call


def call_near(src: CxxFile, names: tuple[bytes, ...], offset: int) -> Call | None:
    """The call of one of these names on the line of an offset: the one whose name is there, else the only one."""
    start, end = src.line_span(offset)
    calls = list(calls_of(src, names, start, end))
    exact = [call for call in calls if call.whole.start <= offset < call.name.end]
    return exact[0] if exact else calls[0] if len(calls) == 1 else None


def _call(src: CxxFile, index: int) -> Call | None:
    opening = index + 1
    if text_at(src, opening) == b"<":
        opening = _after_angles(src, opening)
    close = closing(src, opening) if text_at(src, opening) == b"(" else None
    if close is None:
        return None
    first = index
    while text_at(src, first - 1) == b"::":
        first -= 2 if src.code[first - 2].kind == "identifier" and _touches(src, first - 2) else 1
    if text_at(src, close + 1) == b"{" or _follows_a_type(src, first):
        return None  # a definition or a declaration
    whole = Span(src.code[first].start, src.code[close].end)
    name = Span(src.code[index].start, src.code[index].end)
    return Call(name, whole, tuple(_arguments(src, opening, close)))


def _follows_a_type(src: CxxFile, first: int) -> bool:
    return first > 0 and src.code[first - 1].kind == "identifier" and text_at(src, first - 1) not in _BEFORE_A_CALL


def _touches(src: CxxFile, index: int) -> bool:
    return src.code[index].end == src.code[index + 1].start


def _after_angles(src: CxxFile, index: int) -> int:
    depth = 0
    for at in range(index, min(index + 64, len(src.code))):
        text = text_at(src, at)
        depth += text.count(b"<") - text.count(b">") if text.strip(b"<>") == b"" else 0
        if depth <= 0:
            return at + 1
        if text in (b";", b"{", b"}"):
            break
    return index


def _arguments(src: CxxFile, opening: int, close: int) -> Iterator[Span]:
    at = start = opening + 1
    while at < close:
        text = text_at(src, at)
        if text in (b"(", b"[", b"{"):
            at = closing(src, at) or close
        elif text == b"<" and _is_template(src, at, close):
            at = _after_angles(src, at) - 1
        elif text == b",":
            yield Span(src.code[start].start, src.code[at - 1].end)
            start = at + 1
        at += 1
    if start < close:
        yield Span(src.code[start].start, src.code[close - 1].end)


def _is_template(src: CxxFile, index: int, close: int) -> bool:
    """Whether a `<` opens template arguments: `static_cast<float>(`, not `a < b`."""
    end = _after_angles(src, index)
    return index < end <= close and text_at(src, end) in (b"(", b"::", b"{", b",", b")") and end > index + 1
