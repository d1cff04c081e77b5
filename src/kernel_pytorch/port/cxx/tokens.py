"""The words, punctuators and brackets of a file, as indexes into `src.code`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import ItemsView, Iterator, KeysView, Mapping
from functools import cached_property

from kernel_pytorch.port.cxx.lexer import Tokens
from kernel_pytorch.port.cxx.source import CxxFile, is_word, read_once

OPENING = {b"(": b")", b"[": b"]", b"{": b"}"}
CLOSING = frozenset(OPENING.values())


class Words:
    """Each identifier of a file with the indexes of its tokens in `src.code`.

    A name is looked for in the bytes when it is asked for: rules ask for a few, and a file has hundreds. Only who asks
    for all of them has the whole index made. No CxxFile is held here: it holds this, and would never be freed.
    """

    def __init__(self, data: bytes, code: Tokens, vocabulary: frozenset[bytes]) -> None:
        self._data = data
        self._code = code
        self._vocabulary = vocabulary
        self._known: dict[bytes, tuple[int, ...]] = {}

    def get(self, name: bytes, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The places of a name, or `default`."""
        if name not in self._known:
            self._known[name] = self._places(name)
        return self._known[name] or default

    def __getitem__(self, name: bytes) -> tuple[int, ...]:
        found = self.get(name)
        if not found:
            raise KeyError(name)
        return found

    def __contains__(self, name: bytes) -> bool:
        return bool(self.get(name))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._all)

    def keys(self) -> KeysView[bytes]:
        """All names."""
        return self._all.keys()

    def items(self) -> ItemsView[bytes, tuple[int, ...]]:
        """All names with their places."""
        return self._all.items()

    def _places(self, name: bytes) -> tuple[int, ...]:
        if name not in self._vocabulary and is_word(name):
            return ()
        find, index_of = self._data.find, self._code.index_of
        found = []
        start = find(name)
        while start >= 0:
            end = start + len(name)
            index = index_of(start, end)
            if index is not None:
                found.append(index)
            start = find(name, end)
        return tuple(found)

    @cached_property
    def _all(self) -> dict[bytes, tuple[int, ...]]:
        found: dict[bytes, list[int]] = defaultdict(list)
        data = self._data
        for index, (kind, start, end) in enumerate(self._code):
            if kind == "identifier":
                found[data[start:end]].append(index)
        return {name: tuple(indexes) for name, indexes in found.items()}


@read_once
def words(src: CxxFile) -> Words:
    """The identifiers of a file."""
    return Words(src.data, src.code, src.vocabulary)


def text_at(src: CxxFile, index: int) -> bytes:
    """The text of a code token, or empty outside the file."""
    code = src.code
    if not 0 <= index < len(code.starts):
        return b""
    return src.data[code.starts[index] : code.ends[index]]


def is_string(src: CxxFile, offset: int) -> bool:
    """Whether a string, or the path of an #include, starts at an offset: not one inside a comment or another string."""
    starts = src.code.starts
    index = bisect_left(starts, offset)
    return index < len(starts) and starts[index] == offset and src.code[index].kind == "string"


def punctuation(src: CxxFile, text: bytes) -> Iterator[int]:
    """Indexes in `src.code` of a punctuator, found in the bytes first: most files have few of the rare ones."""
    starts = src.code.starts
    for found in re.finditer(re.escape(text), src.data):
        index = bisect_right(starts, found.start()) - 1
        if index >= 0 and starts[index] == found.start() and src.code.ends[index] == found.end():
            yield index


def closing(src: CxxFile, opening: int) -> int | None:
    """Index of the token that closes the bracket at `opening`."""
    return _brackets(src).get(opening)


def is_in_named_namespace(src: CxxFile, index: int) -> bool:
    """Whether a token stands between the braces of `namespace a { ... }` or `namespace a::b { ... }`."""
    return any(
        opening < index < close and text_at(src, opening) == b"{" and _names_namespace(src, opening)
        for opening, close in _brackets(src).items()
    )


def _names_namespace(src: CxxFile, opening: int) -> bool:
    at = opening - 1
    while at > 0 and (src.code[at].kind == "identifier" or text_at(src, at) == b"::"):
        if text_at(src, at - 1) == b"namespace":
            return True
        at -= 1
    return False


_SNAPSHOT_DEPTH = 200
_BRACKET = re.compile(rb"[][(){}#]")


@read_once
def _brackets(src: CxxFile) -> Mapping[int, int]:
    """Every bracket with the one that closes it, in one pass.

    The branches of a conditional often open the same bracket twice: each starts from what was open before it.
    """
    pairs: dict[int, int] = {}
    stack: list[tuple[bytes, int]] = []
    saved: list[list[tuple[bytes, int]]] = []
    directives = set(src.split.directives)
    for found in _BRACKET.finditer(src.code.firsts):
        index, text = found.start(), found[0]
        if index in directives:
            name = text_at(src, index)[1:].strip()
            if name.startswith(b"if"):
                saved.append(stack[:] if len(stack) < _SNAPSHOT_DEPTH else stack)
            elif name.startswith(b"el") and saved:
                stack = saved[-1][:] if len(saved[-1]) < _SNAPSHOT_DEPTH else stack
            elif name == b"endif" and saved:
                saved.pop()
        elif text in OPENING:
            stack.append((OPENING[text], index))
        elif text in CLOSING and stack:
            if stack[-1][0] == text:
                pairs[stack.pop()[1]] = index
            else:
                stack.clear()  # nothing that was open can be trusted to close
    return pairs
