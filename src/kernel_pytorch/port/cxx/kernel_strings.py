"""CUDA source in a string, which a program compiles while it runs. Here: the strings of C++ files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.cxx.lexer import Token
from kernel_pytorch.port.cxx.source import CxxFile

# A function with a body: a mark alone is a pattern or a word of a message.
DEVICE_FUNCTION = re.compile(r"__(?:global|device)__\b[^;{}]{1,600}\([^;{}]{0,4000}\)\s*\{")
_MAY_HAVE = re.compile(rb'R"[^\s()\\]{0,16}\(|"[^"\n]*__(?:global|device)__')
_RAW = re.compile(r'(?:u8|[uUL])?R"([^\s()\\]{0,16})\((.*)\)\1"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


@dataclass(frozen=True)
class KernelString:
    """The C++ of one string, and the line of the file that each of its lines stands in."""

    text: str
    lines: tuple[int, ...]


def cxx_kernel_strings(src: CxxFile) -> Iterator[tuple[KernelString, int]]:
    """The strings of a C++ file with device functions, and where each begins. Strings side by side are one."""
    if _MAY_HAVE.search(src.data) is None:
        return
    for group in _side_by_side(src):
        text, lines = "", [src.line_col(group[0].start)[0]]
        for token in group:
            line, value = src.line_col(token.start)[0], _value(src.data[token.start : token.end])
            if text.endswith("\n"):
                lines[-1] = line
            ends = value.count("\n")
            lines += range(line + 1, line + 1 + ends) if _is_raw(src.data, token) else [line] * ends
            text += value
        if DEVICE_FUNCTION.search(text):
            yield KernelString(text, tuple(lines)), group[0].start


def _side_by_side(src: CxxFile) -> Iterator[list[Token]]:
    """The strings of a file, those that the compiler joins together."""
    group: list[Token] = []
    for token in src.code:
        if token.kind != "string" or src.data.find(b'"', token.start, token.end) < 0:
            continue
        if group and src.data[group[-1].end : token.start].strip():
            yield group
            group = []
        group.append(token)
    if group:
        yield group


def _is_raw(data: bytes, token: Token) -> bool:
    return b"R" in data[token.start : data.index(b'"', token.start)]


def _value(written: bytes) -> str:
    text = written.decode("utf-8", "replace")
    raw = _RAW.fullmatch(text)
    if raw is not None:
        return raw[2]
    return _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[1]), text[text.index('"') + 1 : -1])
