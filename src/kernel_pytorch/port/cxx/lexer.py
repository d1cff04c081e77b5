"""Splits C, C++ and CUDA source into tokens, byte offsets only.

One regular expression cuts the whole text into pieces. Any bytes are accepted and nothing raises: text that is not
C++ comes out as pieces that match nothing. Literals and comments that never end are cut at the end of the line
(strings, characters) or of the file (comments, raw strings), so that no input takes more than linear time.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import accumulate, compress
from operator import itemgetter
from typing import NamedTuple


class Token(NamedTuple):
    """One token: `kind` is identifier, number, string, char, comment, directive or punct."""

    kind: str
    start: int
    end: int


# The pieces lie end to end, so their lengths give the positions: no match object is made per token, which is half
# of the time.
_PATTERN = rb"""
      [ \t\r\n\v\f]+
    | (?!(?:u8|[uUL])?R?["'])[A-Za-z_$\x80-\xff][\w$\x80-\xff]*                          # identifier
    | [(),;{}\[\]~?@`]
    | \.?[0-9](?:[eEpP][+-]|'?[\w.])*                                                    # number
    | //[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*
    | /\*[\s\S]*?(?:\*/|\Z)
    RAW_STRING
    | (?:u8|[uUL])?R?(?:"[^"\\\n]*(?:\\(?:\r\n|[\s\S])[^"\\\n]*)*"?|'[^'\\\n]*(?:\\(?:\r\n|[\s\S])[^'\\\n]*)*'?)
    | \#\# | \#(?:[ \t]|\\\r?\n)*(?:include(?:_next)?|import)\b | \#[ \t]*\w*
    | <<< | >>> | <<= | >>= | \.\.\. | ->\* | -> | :: | << | >> | <= | >= | == | != | && | \|\| | \+\+ | --
    | [-+*/%&|^]= | [-+*/%&|^!<>=:.]
    | [\s\S]
"""
_RAW_STRING = rb"""| (?:u8|[uUL])?R"([^()\\\s"]{0,16})\([\s\S]*?(?:\)\2"|\Z)"""
_PIECE = re.compile(rb"(" + _PATTERN.replace(b"RAW_STRING", _RAW_STRING) + rb")", re.VERBOSE)
# A raw string ends as it began, which takes a group, and groups take half of the time. Few files have one.
_PIECE_BUT_RAW_STRING = re.compile(_PATTERN.replace(b"RAW_STRING", b""), re.VERBOSE)
_INCLUDES = (b"include", b"include_next", b"import")
_INCLUDE_PATH = re.compile(rb"<[^>\n]*>")
_BOM = b"\xef\xbb\xbf"


def _kinds_by_first_byte() -> list[str]:
    kinds = [""] * 256
    for byte in range(256):
        char = chr(byte)
        if (char.isascii() and (char.isalpha() or char in "_$")) or byte >= 0x80:
            kinds[byte] = "identifier"
        elif char.isascii() and char.isdigit():
            kinds[byte] = "number"
        elif char in "(),;{}[]~?@`<>-:=!&|+*%^":
            kinds[byte] = "punct"
    kinds[ord('"')] = "string"
    kinds[ord("'")] = "char"
    for char in "/.#uULR":
        kinds[ord(char)] = "?"
    return kinds


_KIND = _kinds_by_first_byte()


def tokenize(data: bytes) -> tuple[Token, ...]:
    """Every token of `data` in order. White space and line continuations between tokens are left out."""
    skipped = len(_BOM) if data.startswith(_BOM) else 0
    pieces = _pieces(data, skipped)
    places = list(accumulate(map(len, pieces), initial=skipped))
    ends = places[1:]
    kinds = list(map(_KIND.__getitem__, map(itemgetter(0), pieces)))
    unsettled = [index for index, kind in enumerate(kinds) if kind == "?"]
    for index in unsettled:
        kinds[index] = _settled(pieces[index])
    hashes = [index for index in unsettled if kinds[index] == "#"]
    for index in hashes:
        # A `#` is a directive where only white space and comments lie before it on its line.
        kinds[index] = "directive" if _starts_line(kinds, pieces, index) else "punct"
    for index in hashes:
        if kinds[index] == "directive" and pieces[index][1:].strip(b" \t\\\r\n") in _INCLUDES:
            _join_include_path(data, index, kinds, places, ends)
    make = partial(tuple.__new__, Token)
    return tuple(map(make, compress(zip(kinds, places, ends, strict=False), kinds)))


def _pieces(data: bytes, start: int) -> list[bytes]:
    if b'R"' not in data:
        return _PIECE_BUT_RAW_STRING.findall(data, start)
    return [found[0] for found in _PIECE.findall(data, start)]


def _join_include_path(data: bytes, index: int, kinds: list[str], starts: list[int], ends: list[int]) -> None:
    """Makes one string of the pieces of a `<path>` after the #include at `index`."""
    following = next((at for at in range(index + 1, len(kinds)) if kinds[at]), None)
    if following is None or b"\n" in data[ends[index] : starts[following]]:
        return
    path = _INCLUDE_PATH.match(data, starts[following])
    if path is None:
        return
    kinds[following], ends[following] = "string", path.end()
    for at in range(following + 1, len(kinds)):
        if starts[at] >= path.end():
            break
        kinds[at] = ""


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


def _settled(piece: bytes) -> str:
    first = piece[:1]
    if first == b"/":
        return "comment" if piece[1:2] in (b"/", b"*") else "punct"
    if first == b".":
        return "number" if piece[1:2].isdigit() else "punct"
    if first == b"#":
        return "punct" if piece == b"##" else "#"
    quote = re.search(rb"[\"']", piece[:4])
    if quote is None:
        return "identifier"
    return "string" if quote.group() == b'"' else "char"


def _starts_line(kinds: list[str], pieces: list[bytes], index: int) -> bool:
    back = index - 1
    while back >= 0:
        if kinds[back] == "comment" and not pieces[back].startswith(b"//"):
            if b"\n" in pieces[back]:
                return True
        elif kinds[back] == "" and pieces[back].isspace():
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
