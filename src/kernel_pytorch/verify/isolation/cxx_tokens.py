"""C and C++ source as logical lines of tokens, comments and white space left out.

Two sources that give the same lines compile to the same program. Directives keep their line, because a line break
ends them; other tokens do not depend on lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    rb"""
    (?P<space>[ \t\r\f\v]+|\\\r?\n)
  | (?P<newline>\n)
  | (?P<comment>//(?:[^\n\\]|\\.|\\\r?\n)*|/\*.*?(?:\*/|\Z))
  | (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)")
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.|\\\r?\n)*"?)
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'?)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9a-zA-Z]|[0-9a-zA-Z_.])*)
  | (?P<word>[A-Za-z_$\x80-\xff][A-Za-z0-9_$\x80-\xff]*)
  | (?P<punct><<<|>>>|<<=|>>=|->\*|\.\.\.|<=>|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class CxxToken:
    """One token with the line it starts on (1 is the first)."""

    text: bytes
    line: int


@dataclass(frozen=True)
class Directive:
    """A preprocessor line: `#name` and the tokens behind it."""

    name: bytes
    tokens: tuple[CxxToken, ...]
    line: int


Item = CxxToken | Directive


def read_items(source: bytes) -> list[Item]:
    """Tokens and directives in order. Never fails: an unfinished string or comment ends with its line or the file."""
    items: list[Item] = []
    line = 1
    at_line_start = True
    directive: list[CxxToken] | None = None
    directive_line = 0
    for match in _TOKEN.finditer(source.removeprefix(b"\xef\xbb\xbf")):
        kind, text = match.lastgroup, match.group()
        if kind == "fence":
            kind = "raw"
        if kind == "newline":
            if directive is not None:
                items.append(_directive(directive, directive_line))
                directive = None
            at_line_start = True
        elif kind in ("space", "comment"):
            pass
        elif text == b"#" and at_line_start:
            directive, directive_line = [], line
            at_line_start = False
        else:
            (items if directive is None else directive).append(CxxToken(_joined(text, kind), line))
            at_line_start = False
        line += text.count(b"\n")
    if directive is not None:
        items.append(_directive(directive, directive_line))
    return items


def _joined(text: bytes, kind: str | None) -> bytes:
    """A backslash at the end of a line is not part of a string, except in a raw one."""
    return text if kind == "raw" else re.sub(rb"\\\r?\n", b"", text)


def _directive(tokens: list[CxxToken], line: int) -> Directive:
    name = tokens[0].text if tokens else b""
    return Directive(name, tuple(tokens[1:]), line)
