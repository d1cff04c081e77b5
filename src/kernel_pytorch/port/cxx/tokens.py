"""The words, punctuators and brackets of a file, as indexes into `src.code`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import attrgetter

from kernel_pytorch.port.cxx.source import CxxFile, read_once

OPENING = {b"(": b")", b"[": b"]", b"{": b"}"}
CLOSING = frozenset(OPENING.values())


@read_once
def words(src: CxxFile) -> Mapping[bytes, tuple[int, ...]]:
    """Each identifier of a file with the indexes of its tokens in `src.code`."""
    found: dict[bytes, list[int]] = defaultdict(list)
    data = src.data
    for index, token in enumerate(src.code):
        if token.kind == "identifier":
            found[data[token.start : token.end]].append(index)
    return {name: tuple(indexes) for name, indexes in found.items()}


def text_at(src: CxxFile, index: int) -> bytes:
    """The text of a code token, or empty outside the file."""
    if not 0 <= index < len(src.code):
        return b""
    token = src.code[index]
    return src.data[token.start : token.end]


def is_string(src: CxxFile, offset: int) -> bool:
    """Whether a string, or the path of an #include, starts at an offset: not one inside a comment or another string."""
    index = bisect_left(src.tokens, offset, key=_START)
    return index < len(src.tokens) and src.tokens[index].start == offset and src.tokens[index].kind == "string"


_START = attrgetter("start")


def punctuation(src: CxxFile, text: bytes) -> Iterator[int]:
    """Indexes in `src.code` of a punctuator, found in the bytes first: most files have few of the rare ones."""
    starts = _code_starts(src)
    for found in re.finditer(re.escape(text), src.data):
        index = bisect_right(starts, found.start()) - 1
        if index >= 0 and starts[index] == found.start() and src.code[index].end == found.end():
            yield index


@read_once
def _code_starts(src: CxxFile) -> list[int]:
    return [token.start for token in src.code]


def closing(src: CxxFile, opening: int) -> int | None:
    """Index of the token that closes the bracket at `opening`."""
    return _brackets(src).get(opening)


_SNAPSHOT_DEPTH = 200


@read_once
def _brackets(src: CxxFile) -> Mapping[int, int]:
    """Every bracket with the one that closes it, in one pass.

    The branches of a conditional often open the same bracket twice: each starts from what was open before it.
    """
    pairs: dict[int, int] = {}
    stack: list[tuple[bytes, int]] = []
    saved: list[list[tuple[bytes, int]]] = []
    for index, token in enumerate(src.code):
        if token.kind == "directive":
            name = src.data[token.start + 1 : token.end].strip()
            if name.startswith(b"if"):
                saved.append(stack[:] if len(stack) < _SNAPSHOT_DEPTH else stack)
            elif name.startswith(b"el") and saved:
                stack = saved[-1][:] if len(saved[-1]) < _SNAPSHOT_DEPTH else stack
            elif name == b"endif" and saved:
                saved.pop()
            continue
        if token.kind != "punct" or token.end - token.start != 1:
            continue
        text = src.data[token.start : token.end]
        if text in OPENING:
            stack.append((OPENING[text], index))
        elif text in CLOSING and stack:
            if stack[-1][0] == text:
                pairs[stack.pop()[1]] = index
            else:
                stack.clear()  # nothing that was open can be trusted to close
    return pairs
