"""Counting loops: `for (int i = 0; i < bound; ...) body`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing, text_at, words

_HEAD = re.compile(
    rb"\s*(?:(?:const|unsigned|signed|long)\s+)*[\w:]+\s+(\w+)\s*=\s*[^;]*;\s*(\w+)\s*<=?\s*([^;]+);", re.DOTALL
)


@dataclass(frozen=True)
class Loop:
    """One loop: its variable, the text of its bound, `head` from `for` to the closing bracket, and its body."""

    variable: bytes
    bound: bytes
    head: Span
    body: Span


def counting_loops(src: CxxFile) -> Iterator[Loop]:
    """Every loop of a file whose head declares a variable and compares it with a bound, in order."""
    for index in words(src).get(b"for", ()):
        close = closing(src, index + 1) if text_at(src, index + 1) == b"(" else None
        if close is None:
            continue
        head = _HEAD.match(src.data, src.code[index + 1].end, src.code[close].start)
        if head is not None and head[1] == head[2]:
            span = Span(src.code[index].start, src.code[close].end)
            yield Loop(head[1], head[3], span, Span(span.end, _end_of_body(src, close)))


def _end_of_body(src: CxxFile, close: int) -> int:
    """Where the statement ends that follows a loop's head."""
    at = close + 1
    while text_at(src, at) in (b"for", b"if"):  # without braces between
        inner = closing(src, at + 1)
        if inner is None:
            return src.code[close].end
        at = inner + 1
    if text_at(src, at) == b"{":
        end = closing(src, at)
        return src.code[end].end if end is not None else src.code[close].end
    while at < len(src.code) and text_at(src, at) != b";":
        at += 1
    return src.code[min(at, len(src.code) - 1)].end
