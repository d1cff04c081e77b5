"""Splits C, C++ and CUDA source into tokens, byte offsets only.

One regular expression cuts the whole text into pieces. Any bytes are accepted and nothing raises: text that is not
C++ comes out as pieces that match nothing. Literals and comments that never end are cut at the end of the line
(strings, characters) or of the file (comments, raw strings), so that no input takes more than linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from heapq import merge
from itertools import accumulate, compress
from operator import itemgetter
from typing import NamedTuple, overload


class Token(NamedTuple):
    """One token: `kind` is identifier, number, string, char, comment, directive or punct."""

    kind: str
    start: int
    end: int


# The pieces lie end to end, so their lengths give the positions: no match object is made per token, which is half
# of the time. What is frequent stands first.
_PATTERN = rb"""
      [ \t\r\n\v\f]+
    | [A-KM-QSTV-Za-tv-z_$\x80-\xff][\w$\x80-\xff]*                                       # identifier
    | [(),;{}\[\]~?@`]
    | \.?[0-9](?:[eEpP][+-]|'?[\w.])*                                                    # number
    | [*%^!=]=? | <(?:<[<=]?|=)? | >(?:>[>=]?|=)? | -(?:>\*?|[-=])? | \+[+=]? | &[&=]? | \|[|=]? | ::? | \.(?:\.\.)?
    | //[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*
    | /\*[\s\S]*?(?:\*/|\Z)
    | /=?
    | (?!(?:u8|[uUL])?R?["'])[LRUu][\w$\x80-\xff]*        # identifier that begins as some strings do
    RAW_STRING
    | (?:u8|[uUL])?R?(?:"[^"\\\n]*(?:\\(?:\r\n|[\s\S])[^"\\\n]*)*"?|'[^'\\\n]*(?:\\(?:\r\n|[\s\S])[^'\\\n]*)*'?)
    | \#\# | \#(?:[ \t]|\\\r?\n)*(?:include(?:_next)?|import)\b | \#[ \t]*\w*
    | [\s\S]
"""
_RAW_STRING = rb"""| (?:u8|[uUL])?R"([^()\\\s"]{0,16})\([\s\S]*?(?:\)\2"|\Z)"""
_PIECE = re.compile(rb"(" + _PATTERN.replace(b"RAW_STRING", _RAW_STRING) + rb")", re.VERBOSE)
# A raw string ends as it began, which takes a group, and groups take half of the time. Few files have one.
_PIECE_BUT_RAW_STRING = re.compile(_PATTERN.replace(b"RAW_STRING", b""), re.VERBOSE)
_INCLUDES = (b"include", b"include_next", b"import")
_INCLUDE_PATH = re.compile(rb"<[^>\n]*>")
_BOM = b"\xef\xbb\xbf"


# A kind is one byte while the text is split, so that the kinds of all pieces are one string; 0 is white space.
_NAMES = {
    ord(letter): name
    for letter, name in {
        "i": "identifier", "n": "number", "s": "string", "q": "char", "c": "comment", "d": "directive", "p": "punct",
    }.items()
}  # fmt: skip
_IDENTIFIER, _NUMBER, _STRING, _CHAR, _COMMENT, _DIRECTIVE, _PUNCT = _NAMES
_UNSETTLED = re.compile(rb"\?")


def _kinds_by_first_byte() -> bytes:
    kinds = bytearray(256)
    for byte in range(256):
        char = chr(byte)
        if (char.isascii() and (char.isalpha() or char in "_$")) or byte >= 0x80:
            kinds[byte] = _IDENTIFIER
        elif char.isascii() and char.isdigit():
            kinds[byte] = _NUMBER
        elif char in "(),;{}[]~?@`<>-:=!&|+*%^":
            kinds[byte] = _PUNCT
    kinds[ord("'")] = _CHAR
    for char in '"/.#uULR':
        kinds[ord(char)] = ord("?")
    return bytes(kinds)


_KIND = _kinds_by_first_byte()
_make: Callable[[tuple[str, int, int]], Token] = partial(tuple.__new__, Token)


class Tokens(Sequence[Token]):
    """The tokens of a text. One is made when it is asked for: of four, three never are.

    `starts` and `ends` are their offsets, `firsts` their first bytes: the brackets of a text are found in these.
    """

    __slots__ = ("_kinds", "ends", "firsts", "starts")

    def __init__(self, kinds: bytes, starts: list[int], ends: list[int], firsts: bytes) -> None:
        self._kinds = kinds
        self.starts = starts
        self.ends = ends
        self.firsts = firsts

    def __len__(self) -> int:
        return len(self._kinds)

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Token, ...]: ...
    def __getitem__(self, index: int | slice) -> Token | tuple[Token, ...]:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, range(*index.indices(len(self._kinds)))))
        return _make((_NAMES[self._kinds[index]], self.starts[index], self.ends[index]))

    def __iter__(self) -> Iterator[Token]:
        return map(_make, zip(map(_NAMES.__getitem__, self._kinds), self.starts, self.ends, strict=True))

    def index_of(self, start: int, end: int) -> int | None:
        """The index of the identifier that stands there, if one does."""
        index = bisect_left(self.starts, start)
        is_one = index < len(self.starts) and self.starts[index] == start and self.ends[index] == end
        return index if is_one and self._kinds[index] == _IDENTIFIER else None


@dataclass(frozen=True)
class Split:
    """A text in tokens. `code` is without comments; `directives` are indexes in it."""

    code: Tokens
    comments: tuple[Token, ...]
    strings: tuple[Token, ...]
    directives: tuple[int, ...]


def tokenize(data: bytes) -> tuple[Token, ...]:
    """Every token of `data` in order. White space and line continuations between tokens are left out."""
    found = split(data)
    return tuple(merge(found.code, found.comments, key=itemgetter(1)))


def split(data: bytes) -> Split:
    """The same, comments apart, and with the places of what many look for."""
    skipped = len(_BOM) if data.startswith(_BOM) else 0
    pieces = _pieces(data, skipped)
    places = list(accumulate(map(len, pieces), initial=skipped))
    ends = places[1:]
    firsts = bytes(map(itemgetter(0), pieces))
    kinds = bytearray(firsts.translate(_KIND))
    rare = [found.start() for found in _UNSETTLED.finditer(kinds)]
    for index in rare:
        piece = pieces[index]
        kinds[index] = _kind_by_beginning(piece[:2]) or _kind(piece)
    hashes = [index for index in rare if kinds[index] == _DIRECTIVE]
    for index in hashes:
        # A `#` is a directive where only white space and comments lie before it on its line.
        kinds[index] = _DIRECTIVE if _starts_line(kinds, pieces, index) else _PUNCT
    hashes = [index for index in hashes if kinds[index] == _DIRECTIVE]
    for index in hashes:
        if pieces[index][1:].strip(b" \t\\\r\n") in _INCLUDES:
            rare += _join_include_path(data, index, kinds, places, ends)
    strings = tuple(Token("string", places[at], ends[at]) for at in sorted(rare) if kinds[at] == _STRING)
    comments = [index for index in rare if kinds[index] == _COMMENT]
    apart = tuple(Token("comment", places[index], ends[index]) for index in comments)
    for index in comments:
        kinds[index] = 0
    starts = list(compress(places, kinds))
    code = Tokens(bytes(kinds.replace(b"\0", b"")), starts, list(compress(ends, kinds)), bytes(compress(firsts, kinds)))
    return Split(code, apart, strings, tuple(bisect_left(starts, places[index]) for index in hashes))


def _pieces(data: bytes, start: int) -> list[bytes]:
    if b'R"' not in data:
        return _PIECE_BUT_RAW_STRING.findall(data, start)
    return [found[0] for found in _PIECE.findall(data, start)]


def _join_include_path(
    data: bytes, index: int, kinds: bytearray, starts: list[int], ends: list[int]
) -> tuple[int, ...]:
    """Makes one string of the pieces of a `<path>` after the #include at `index`. Gives where it stands, if at all."""
    following = next((at for at in range(index + 1, len(kinds)) if kinds[at]), None)
    if following is None or b"\n" in data[ends[index] : starts[following]]:
        return ()
    path = _INCLUDE_PATH.match(data, starts[following])
    if path is None:
        return ()
    kinds[following], ends[following] = _STRING, path.end()
    for at in range(following + 1, len(kinds)):
        if starts[at] >= path.end():
            break
        kinds[at] = 0
    return (following,)


_MOST_BEYOND = 1_000_000


def safe_cut(data: bytes, start: int, wanted: int) -> int:
    """An offset between two tokens, soon after `wanted`: behind a `;`, `,`, `}` or a line's end, where there is one.

    `start` is such an offset itself.
    """
    if wanted >= len(data):
        return len(data)
    for found in _PIECE.finditer(data, start):
        if found.end() < wanted:
            continue
        text = found[0]
        is_line_end = text.isspace() and b"\n" in text and data[found.start() - 1 : found.start()] != b"\\"
        if text in (b";", b",", b"}") or is_line_end or found.end() > wanted + _MOST_BEYOND:
            return found.end()
    return len(data)


@cache
def _kind_by_beginning(two: bytes) -> int:
    """The kind of the pieces that begin with two bytes; 0 where these do not tell it: `u8`, `LR`."""
    return 0 if two[1:] in (b"8", b"R") and two[:1].isalpha() else _kind(two)


def _kind(piece: bytes) -> int:
    """The kind of a piece; a `#` counts as a directive wherever it stands."""
    first = piece[:1]
    if first == b"/":
        return _COMMENT if piece[1:2] in (b"/", b"*") else _PUNCT
    if first == b".":
        return _NUMBER if piece[1:2].isdigit() else _PUNCT
    if first == b"#":
        return _PUNCT if piece == b"##" else _DIRECTIVE
    quote = re.search(rb"[\"']", piece[:4])
    if quote is None:
        return _IDENTIFIER
    return _STRING if quote.group() == b'"' else _CHAR


def _starts_line(kinds: bytearray, pieces: list[bytes], index: int) -> bool:
    back = index - 1
    while back >= 0:
        if kinds[back] == _COMMENT and not pieces[back].startswith(b"//"):
            if b"\n" in pieces[back]:
                return True
        elif not kinds[back] and pieces[back].isspace():
            if b"\n" in pieces[back]:
                return not (back > 0 and pieces[back - 1] == b"\\" and pieces[back].startswith((b"\n", b"\r\n")))
        else:
            return False
        back -= 1
    return True


# No longer than 64 bits: Python itself refuses numbers of thousands of digits.
_INTEGER = re.compile(rb"(0[xX][0-9a-fA-F]{1,16}|0[bB][01]{1,64}|0[0-7]{0,22}|[1-9][0-9]{0,19})[uUlLzZ]{0,3}")


def integer_value(text: bytes) -> int | None:
    """The value of an integer literal, its suffix and digit separators aside; None for anything else."""
    found = _INTEGER.fullmatch(text.replace(b"'", b""))
    if not found:
        return None
    digits = found.group(1)
    is_octal = digits[:1] == b"0" and digits[1:].isdigit()
    return int(digits, 8 if is_octal else 0)
