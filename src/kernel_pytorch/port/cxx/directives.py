"""Preprocessor lines, and the conditionals they form."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.lexer import Token, Tokens
from kernel_pytorch.port.cxx.source import CxxFile, read_once

_DEEPEST = 64  # conditionals around the average byte of a file


@dataclass(frozen=True)
class Directive:
    """One preprocessor line: `name` is `if`, `ifdef`, `define` ..."""

    name: bytes
    span: Span
    _data: bytes = field(repr=False, compare=False)
    _code: Tokens = field(repr=False, compare=False)
    _first: int
    _stop: int

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens after the name. Of most lines nobody asks for them."""
        return _inner(self._data, self._code, self._first, self._stop, self.span.end)


@read_once
def _directives(src: CxxFile) -> tuple[Directive, ...]:
    found: list[Directive] = []
    code = src.code
    stop = 0
    for index in src.split.directives:
        if index < stop:
            continue
        token = code[index]
        end = _logical_line_end(src, token.end)
        stop = max(bisect_left(code.starts, end), index + 1)
        name = src.data[token.start + 1 : token.end].strip(b" \t\\\r\n")
        first = index + 1
        if not name:  # `# /* why */ if`, or a line joined behind the #
            inner = _inner(src.data, code, first, stop, end)
            if inner and inner[0].kind == "identifier":
                name, first = src.text(inner[0]), bisect_left(code.starts, inner[0].end)
        found.append(Directive(name, Span(token.start, end), src.data, code, first, stop))
    return tuple(found)


def _inner(data: bytes, code: Tokens, first: int, stop: int, end: int) -> tuple[Token, ...]:
    """The tokens of a line, without the backslashes that join lines."""
    inner = code[first:stop]
    if not inner or data.find(b"\\", inner[0].start, end) < 0:
        return inner
    return tuple(item for item in inner if data[item.start : item.end] != b"\\")


@read_once
def _directive_starts(src: CxxFile) -> list[int]:
    return [directive.span.start for directive in _directives(src)]


def directives(src: CxxFile) -> tuple[Directive, ...]:
    """The preprocessor lines of a file, in order."""
    return _directives(src)


def directive_at(src: CxxFile, offset: int) -> Directive | None:
    """The preprocessor line an offset lies in, continuation lines counted."""
    line = bisect_right(_directive_starts(src), offset) - 1
    if line < 0 or offset >= _directives(src)[line].span.end:
        return None
    return _directives(src)[line]


def is_in_directive(src: CxxFile, offset: int) -> bool:
    """Whether an offset lies in a preprocessor line."""
    return directive_at(src, offset) is not None


_LINE_END = re.compile(rb"(?<!\\)(?<!\\\r)\n|\Z")


def _logical_line_end(src: CxxFile, start: int) -> int:
    """The end of a line that goes on behind a backslash, and in a comment of several lines."""
    while True:
        found = _LINE_END.search(src.data, start)
        end = found.start() if found else len(src.data)
        comments = _long_comments(src)
        index = bisect_right(comments, end, key=lambda one: one.start) - 1
        if index < 0 or comments[index].end <= end:
            return end
        start = comments[index].end


@read_once
def _long_comments(src: CxxFile) -> list[Token]:
    return [token for token in src.split.comments if b"\n" in src.data[token.start : token.end]]


@dataclass(frozen=True)
class Branch:
    """One branch of a conditional: its directive and the span of its text."""

    directive: Directive
    body: Span


@dataclass(frozen=True)
class Conditional:
    """#if to #endif with all its branches."""

    branches: tuple[Branch, ...]


@read_once
def conditionals(src: CxxFile) -> tuple[Conditional, ...]:
    """All conditionals of a file, inner ones after the outer ones that hold them; unbalanced ones end with the file."""
    open_ones: list[list[tuple[Directive, int]]] = []
    done: list[tuple[int, Conditional]] = []

    def close(branches: list[tuple[Directive, int]], end: int) -> None:
        ends = [directive.span.start for directive, _ in branches[1:]] + [end]
        made = tuple(
            Branch(one, Span(start, max(start, stop))) for (one, start), stop in zip(branches, ends, strict=True)
        )
        done.append((branches[0][0].span.start, Conditional(made)))

    for directive in directives(src):
        if directive.name in (b"if", b"ifdef", b"ifndef"):
            open_ones.append([(directive, directive.span.end)])
        elif directive.name in (b"elif", b"else", b"elifdef", b"elifndef") and open_ones:
            open_ones[-1].append((directive, directive.span.end))
        elif directive.name == b"endif" and open_ones:
            close(open_ones.pop(), directive.span.start)
    while open_ones:
        close(open_ones.pop(), len(src.data))
    return tuple(conditional for _, conditional in sorted(done, key=lambda item: item[0]))


def nests_beyond_reason(src: CxxFile) -> bool:
    """Whether conditionals stand inside each other as in no program: what reads all they hold would take for ever."""
    held = sum(branch.body.end - branch.body.start for one in conditionals(src) for branch in one.branches)
    return held > _DEEPEST * len(src.data)
