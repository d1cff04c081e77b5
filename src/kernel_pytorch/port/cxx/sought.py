"""Patterns that are looked for in many files and found in few."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


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

    def finditer(self, data: bytes) -> Iterator[re.Match[bytes]]:
        """Every place the pattern matches."""
        return self.pattern.finditer(data) if any(word in data for word in self.words) else iter(())


def sought(pattern: bytes, *words: bytes) -> Sought:
    """A pattern, and the words one of which every match of it holds."""
    return Sought(words, re.compile(pattern))
