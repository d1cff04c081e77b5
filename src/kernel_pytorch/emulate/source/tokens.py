"""Tokens of preprocessed C++: what the user wrote is told from system headers by the compiler's line markers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"([ \d]*)$', re.MULTILINE)
_TOKEN = re.compile(
    r"""
      (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\s\\]*)\(.*?\)(?P=fence)")
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
    | (?P<name>[A-Za-z_$][\w$]*)
    | (?P<number>\.?\d(?:[eEpP][+-]|'[\w]|[\w.])*)
    | (?P<marker>^\#[^\n]*$)
    | (?P<punct><<<|->\*?|::|<<|<=|>=|==|!=|&&|\|\||\+\+|--|\.\.\.|[-+*/%&|^]=|[^\s\w])
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


class Token(NamedTuple):
    """One token: `kind` is name, number, string, char or punct; offsets into the preprocessed text."""

    kind: str
    text: str
    start: int
    end: int


class Region(NamedTuple):
    """A stretch of the text that came from one file; `first_line` is the line of its first character."""

    start: int
    end: int
    path: str
    first_line: int
    system: bool


def regions(text: str) -> tuple[Region, ...]:
    """The stretches between line markers, in order."""
    found: list[Region] = []
    before: tuple[int, str, int, bool] | None = None
    for marker in _MARKER.finditer(text):
        if before is not None:
            found.append(Region(before[0], marker.start(), before[1], before[2], before[3]))
        path = marker[2].replace('\\"', '"').replace("\\\\", "\\")
        before = (marker.end() + 1, path, int(marker[1]), "3" in marker[3].split())
    if before is not None:
        found.append(Region(before[0], len(text), before[1], before[2], before[3]))
    # Tokens that a system header's macro put into the user's text are marked as that header's: they are the user's.
    own = {region.path for region in found if not region.system}
    return tuple(region._replace(system=region.path not in own) for region in found if region.start < region.end)


def tokens(text: str, of: tuple[Region, ...]) -> tuple[Token, ...]:
    """The tokens of the user's regions, markers left out."""
    return tuple(token for region in of if not region.system for token in _lexed(text, region))


def _lexed(text: str, region: Region) -> Iterator[Token]:
    for match in _TOKEN.finditer(text, region.start, region.end):
        kind = match.lastgroup or ""
        if kind == "fence":
            kind = "raw"
        if kind != "marker":
            yield Token("string" if kind == "raw" else kind, match[0], match.start(), match.end())


def place_of(offset: int, text: str, of: tuple[Region, ...]) -> tuple[str, int]:
    """File and line of an offset."""
    for region in of:
        if region.start <= offset < region.end:
            return region.path, region.first_line + text.count("\n", region.start, offset)
    return "", 0
