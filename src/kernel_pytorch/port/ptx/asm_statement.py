"""Finds `asm` statements in C++ tokens and takes them apart: template, outputs, inputs, clobbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.lexer import Token
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing

KEYWORDS = frozenset({b"asm", b"__asm__", b"__asm"})
_QUALIFIERS = frozenset({b"volatile", b"__volatile__", b"__volatile", b"inline", b"__inline__", b"goto"})
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "a": "\a", "v": "\v", "f": "\f"}
_OPENING = {b"(": b")", b"[": b"]", b"{": b"}"}


@dataclass(frozen=True)
class AsmOperand:
    """One operand: its constraint without modifiers, whether it is read and written, and its C++ expression."""

    constraint: str
    is_read: bool
    is_written: bool
    expression: str
    name: str = ""


@dataclass(frozen=True)
class AsmStatement:
    """An asm statement without its semicolon. `template` is None where it is not one literal (see `obstacle`)."""

    span: Span
    is_volatile: bool
    template: str | None
    operands: tuple[AsmOperand, ...]
    clobbers: tuple[str, ...]
    in_directive: bool
    obstacle: str = ""


def asm_statements(src: CxxFile) -> Iterator[AsmStatement]:
    """Every asm statement of a file, in order, those in macros included."""
    code = src.code
    for index, token in enumerate(code):
        if token.kind == "identifier" and src.text(token) in KEYWORDS:
            statement = _statement(src, code, index)
            if statement is not None:
                yield statement


def _statement(src: CxxFile, code: Sequence[Token], index: int) -> AsmStatement | None:
    at = index + 1
    qualifiers: set[bytes] = set()
    while at < len(code) and src.text(code[at]) in _QUALIFIERS:
        qualifiers.add(src.text(code[at]))
        at += 1
    if at >= len(code) or src.text(code[at]) != b"(":
        return None
    close = closing(src, at)
    if close is None:
        return None
    # `extern int x asm("name")` and `register int r asm("r0")` name a symbol or a register.
    if index and code[index - 1].kind == "identifier" and src.text(code[index - 1]) not in (b"else", b"do", b"return"):
        before = src.text(code[index - 1])
        if not qualifiers and close - at == 2 and before.islower() and not _follows_macro_head(src, code, index):
            return None
    span = Span(code[index].start, code[close].end)
    parts = _split(src, code, at + 1, close, b":")
    in_directive = is_in_directive(src, span.start)
    template, obstacle = _literal(src, parts[0])
    if b"goto" in qualifiers:
        obstacle = obstacle or "asm goto jumps to labels of the C++ code"
    operands: list[AsmOperand] = []
    for position, section in enumerate(parts[1:3]):
        for group in _groups(src, section):
            operand = _operand(src, group, is_output=position == 0)
            if operand is None:
                obstacle = obstacle or 'an operand is not of the form "constraint"(expression)'
            else:
                operands.append(operand)
    clobbers = tuple(_unquote(src.text(token)) for section in parts[3:4] for token in section if token.kind == "string")
    return AsmStatement(
        span,
        any(b"volatile" in word for word in qualifiers),
        None if obstacle else template,
        _with_matching_constraints(operands),
        clobbers,
        in_directive,
        obstacle,
    )


def _follows_macro_head(src: CxxFile, code: Sequence[Token], index: int) -> bool:
    """Whether the asm is the body of `#define NAME asm(...)`."""
    return index >= 2 and code[index - 2].kind == "directive" and src.text(code[index - 2]).endswith(b"define")


def _split(src: CxxFile, code: Sequence[Token], start: int, end: int, separator: bytes) -> list[list[Token]]:
    """The tokens of a range split at a separator of depth zero. `::` counts as two colons there."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in code[start:end]:
        text = src.text(token)
        if token.kind == "punct":
            depth += (text in _OPENING) - (text in (b")", b"]", b"}"))
            if depth == 0 and text == separator:
                parts.append([])
                continue
            if depth == 0 and separator == b":" and text == b"::":
                parts += [[], []]
                continue
        parts[-1].append(token)
    return parts


def _literal(src: CxxFile, tokens: Sequence[Token]) -> tuple[str | None, str]:
    pieces: list[str] = []
    for token in tokens:
        text = src.text(token)
        if text == b"\\":
            continue
        if token.kind != "string":
            return None, f"its text is put together by the preprocessor ({text.decode('latin-1')})"
        pieces.append(_unquote(text))
    return ("".join(pieces), "") if pieces else (None, "its text is missing")


def _unquote(text: bytes) -> str:
    decoded = text.decode("latin-1")
    raw = re.fullmatch(r'(?:u8|[uUL])?R"([^(]*)\((.*)\)\1"', decoded, re.DOTALL)
    if raw:
        return raw.group(2)
    body = re.sub(r'^(?:u8|[uUL])?"|"$', "", decoded)
    body = re.sub(r"\\\r?\n", "", body)
    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", _unescape, body, flags=re.DOTALL)


def _unescape(found: re.Match[str]) -> str:
    text = found.group(1)
    if text[0] == "x" and len(text) > 1:
        return chr(int(text[1:], 16) & 0xFF)
    if text[0].isdigit():
        return chr(int(text, 8) & 0xFF)
    return _SIMPLE_ESCAPES.get(text, text)


def _groups(src: CxxFile, section: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each operand. nvcc also takes operands without a comma between them."""
    for part in _split(src, section, 0, len(section), b","):
        words = [token for token in part if src.text(token) != b"\\"]
        depth, start = 0, 0
        for at, token in enumerate(words):
            depth += (src.text(token) == b"(") - (src.text(token) == b")")
            if depth == 0 and src.text(token) == b")" and at + 1 < len(words) and words[at + 1].kind == "string":
                yield words[start : at + 1]
                start = at + 1
        if words[start:]:
            yield words[start:]


def _operand(src: CxxFile, group: list[Token], *, is_output: bool) -> AsmOperand | None:
    name = ""
    if src.text(group[0]) == b"[" and len(group) > 3 and src.text(group[2]) == b"]":
        name, group = src.text(group[1]).decode("latin-1"), group[3:]
    strings = 0
    while strings < len(group) and group[strings].kind == "string":
        strings += 1
    if not strings or strings >= len(group) or src.text(group[strings]) != b"(":
        return None
    if src.text(group[-1]) != b")":
        return None
    constraint = "".join(_unquote(src.text(token)) for token in group[:strings]).strip()
    raw = src.data[group[strings].end : group[-1].start]
    expression = re.sub(r"\\\r?\n", " ", raw.decode("utf-8", "surrogateescape")).strip()
    letters = constraint.lstrip("=+&%")
    is_written = is_output
    is_read = not is_output or constraint.startswith("+")
    return AsmOperand(letters, is_read, is_written, expression, name)


def _with_matching_constraints(operands: list[AsmOperand]) -> tuple[AsmOperand, ...]:
    """`"0"(x)` means: the input starts out in the register of output 0; it has that output's class."""
    result = list(operands)
    for index, operand in enumerate(operands):
        if operand.constraint.isdigit() and int(operand.constraint) < len(operands):
            tied = operands[int(operand.constraint)]
            result[index] = AsmOperand(tied.constraint, True, False, operand.expression, f"tied:{operand.constraint}")
    return tuple(result)
