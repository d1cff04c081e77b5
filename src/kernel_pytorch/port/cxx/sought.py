"""Patterns and texts that are looked for in many files and found in few."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kernel_pytorch.port.cxx.source import CxxFile, is_word


@dataclass(frozen=True)
class Sought:
    """A pattern that cannot match where none of some words stands.

    The words are plain bytes: Python finds one in a file some fifty times as fast as a pattern that begins with a look
    behind or a choice.
    """

    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]

    def search(self, data: bytes) -> re.Match[bytes] | None:
        """The first place the pattern matches."""
        return self.pattern.search(data) if any(word in data for word in self.words) else None

    def search_among(self, present: frozenset[bytes], data: bytes) -> re.Match[bytes] | None:
        """The same in a text all of whose watched words are `present`."""
        return None if present.isdisjoint(self.words) else self.search(data)

    def finditer(self, data: bytes) -> Iterator[re.Match[bytes]]:
        """Every place the pattern matches."""
        return self.pattern.finditer(data) if any(word in data for word in self.words) else iter(())


def sought(pattern: bytes, *words: bytes) -> Sought:
    """A pattern, and the words one of which every match of it holds."""
    return Sought(words, re.compile(pattern))


class Watched:
    """Texts that are looked for in every file."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = frozenset(texts)

    def present(self, src: CxxFile) -> frozenset[bytes]:
        """Those of the texts that stand in a file."""
        return _watches[src.language].present(src, self._texts)


class _Watch:
    """The texts of all who watch the files of a language, looked for at once and once in a file.

    Files of a project share most of their words. Which texts a word has in it is found out when a first file has the
    word, and known for the next.
    """

    def __init__(self) -> None:
        self._texts: frozenset[bytes] = frozenset()
        self._words: tuple[_Beginning, ...] = ()
        self._parts: tuple[tuple[bytes, bytes, bytes, bytes], ...] = ()
        self._seen: set[bytes] = set()
        self._holding: dict[bytes, frozenset[bytes]] = {}

    def present(self, src: CxxFile, texts: frozenset[bytes]) -> frozenset[bytes]:
        """Those of some texts that stand in a file."""
        known = src.__dict__.get(_PRESENT)
        if known is None or not texts <= known[0]:
            if not texts <= self._texts:
                self._watch(texts)
            known = src.__dict__[_PRESENT] = self._texts, self._all_present(src)
        found: frozenset[bytes] = known[1] & texts
        return found

    def _watch(self, texts: frozenset[bytes]) -> None:
        self._texts |= texts
        self._seen.clear()
        self._holding.clear()
        ordered = sorted(self._texts, key=lambda one: (len(one), one))
        self._words = _beginnings([text for text in ordered if is_word(text)], _LENGTHS)
        parts = [text for text in ordered if not is_word(text)]
        # `.at(` is not where the word `at` is not, `cuda::std` not where `cuda` is not, `<<<` not where `<<` is not.
        self._parts = tuple(
            (
                max(_WHOLE_WORDS.findall(text), key=len, default=b""),
                max(_WORDS.findall(text), key=len, default=b""),
                next(one for one in parts if one in text),
                text,
            )
            for text in parts
        )

    def _all_present(self, src: CxxFile) -> frozenset[bytes]:
        words, data = src.vocabulary_text, src.data
        found = self._in_words(src.vocabulary)
        for whole, word, shorter, text in self._parts:
            if whole and whole not in src.vocabulary:
                continue
            if (shorter is text or shorter in found) and word in words and text in data:
                found.add(text)
        return frozenset(found)

    def _in_words(self, words: frozenset[bytes]) -> set[bytes]:
        """The texts that stand in one of some words."""
        new = words - self._seen
        if new:
            if len(self._seen) > _MOST_WORDS:
                self._seen.clear()
                self._holding.clear()
                new = words
            together = b" ".join((b"", *new, b""))
            for text in self._in_text(together):
                for word in _words_with(text, together):
                    self._holding[word] = self._holding.get(word, frozenset()) | {text}
            self._seen |= new
        return set().union(*(self._holding[word] for word in self._holding.keys() & words))

    def _in_text(self, words: bytes) -> list[bytes]:
        found: list[bytes] = []
        pending = list(self._words)
        while pending:
            beginning, is_text, longer = pending.pop()
            if beginning in words:
                pending += longer
                if is_text:
                    found.append(beginning)
        return found


def _words_with(text: bytes, words: bytes) -> Iterator[bytes]:
    """The words that hold some text; there is a space before and behind each."""
    start = words.find(text)
    while start >= 0:
        end = words.index(b" ", start)
        yield words[words.rindex(b" ", 0, start) + 1 : end]
        start = words.find(text, end)


class _Beginning(NamedTuple):
    """What some texts begin with, whether it is one of them, and those that are longer. Most files have no word with
    `CU` in it, which answers for forty texts."""

    text: bytes
    is_text: bool
    longer: tuple[_Beginning, ...]


def _beginnings(texts: Sequence[bytes], lengths: tuple[int, ...]) -> tuple[_Beginning, ...]:
    groups: dict[bytes, list[bytes]] = defaultdict(list)
    for text in texts:
        groups[text[: lengths[0]] if lengths else text].append(text)
    return tuple(
        _Beginning(group[0], True, ())
        if len(group) == 1
        else _Beginning(beginning, beginning in group, _beginnings([x for x in group if x != beginning], lengths[1:]))
        for beginning, group in groups.items()
    )


_watches: defaultdict[str, _Watch] = defaultdict(_Watch)
_PRESENT = f"{__name__}.present"
_LENGTHS = (2, 4, 7)
_MOST_WORDS = 200_000  # twenty megabytes
_WORDS = re.compile(rb"\w+")
_WHOLE_WORDS = re.compile(rb"(?<=\W)\w+(?=\W)")
