"""Integer expressions that can be read off the source: literals, sizeof, macros and constants of the unit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.unit import Unit

_SIZES = {
    b"char": 1, b"bool": 1, b"short": 2, b"half": 2, b"__half": 2, b"int": 4, b"unsigned": 4, b"float": 4,
    b"int32_t": 4,
    b"uint32_t": 4, b"double": 8, b"float2": 8, b"int64_t": 8, b"uint64_t": 8, b"size_t": 8, b"float4": 16, b"int4": 16,
}  # fmt: skip
_TOKEN = re.compile(rb"\s*(?:(\d\w*)|([A-Za-z_]\w*)|(<<|>>|[-+*/%()&|]))")
_SIZEOF = re.compile(rb"sizeof\s*\(\s*(?:unsigned\s+)?(\w+)\s*\)")
_CAST = re.compile(rb"\(\s*(?:unsigned|int|size_t|unsigned int|long|long long|unsigned long long)\s*\)")
_CONSTANT = rb"\b(?:constexpr|const)\s+(?:static\s+)?[\w:]+(?:\s+[\w:]+)?\s+%s\s*=\s*([^;{}]+);"
_MAX_DEPTH = 8


def constant_value(text: bytes, unit: Unit, depth: int = 0) -> int | None:
    """The value of an integer expression, or None where it cannot be read off."""
    if depth > _MAX_DEPTH or len(text) > 2000:
        return None
    plain = _CAST.sub(b"", _SIZEOF.sub(_size, re.sub(rb"\\\r?\n", b" ", text)))
    pieces: list[str] = []
    position = 0
    stripped = plain.strip()
    while position < len(stripped):
        found = _TOKEN.match(stripped, position)
        if not found:
            return None
        position = found.end()
        number, name, sign = found.groups()
        if sign is not None:
            pieces.append(sign.decode())
            continue
        value = _literal(number) if number is not None else _named(name, unit, depth)
        if value is None:
            return None
        pieces.append(str(value))
    return _evaluated(pieces)


def _size(found: re.Match[bytes]) -> bytes:
    return str(_SIZES[found.group(1)]).encode() if found.group(1) in _SIZES else found.group()


def _literal(text: bytes) -> int | None:
    found = re.fullmatch(rb"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text)
    if not found:
        return None
    digits = found.group(1)
    return int(digits, 16) if digits[:2].lower() == b"0x" else int(digits)


@lru_cache(maxsize=256)
def _named(name: bytes, unit: Unit, depth: int) -> int | None:
    macros = unit.macros.get(name, ())
    if len(macros) == 1 and macros[0].parameters is None:
        return constant_value(macros[0].body, unit, depth + 1)
    if macros:
        return None
    found = []
    for file in unit.files:
        if name in file.data:
            found += re.findall(_CONSTANT % re.escape(name), file.data)
    return constant_value(found[0], unit, depth + 1) if len(set(found)) == 1 else None


_PRECEDENCE = {"|": 1, "&": 2, "<<": 3, ">>": 3, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_LIMIT = 1 << 64


def _evaluated(pieces: list[str]) -> int | None:
    try:
        value, position = _expression(pieces, 0, 1)
    except (IndexError, ValueError, ZeroDivisionError, RecursionError):
        return None
    return value if position == len(pieces) else None


def _expression(pieces: list[str], position: int, lowest: int) -> tuple[int, int]:
    value, position = _operand(pieces, position)
    while position < len(pieces) and _PRECEDENCE.get(pieces[position], 0) >= lowest:
        sign = pieces[position]
        right, position = _expression(pieces, position + 1, _PRECEDENCE[sign] + 1)
        value = _applied(sign, value, right)
        if abs(value) >= _LIMIT:
            raise ValueError("too large")
    return value, position


def _operand(pieces: list[str], position: int) -> tuple[int, int]:
    text = pieces[position]
    if text == "(":
        value, position = _expression(pieces, position + 1, 1)
        if pieces[position] != ")":
            raise ValueError("no closing parenthesis")
        return value, position + 1
    if text == "-":
        value, position = _operand(pieces, position + 1)
        return -value, position
    return int(text), position + 1


def _applied(sign: str, left: int, right: int) -> int:
    if sign in ("<<", ">>"):
        if not 0 <= right < 64:
            raise ValueError("shift")
        return left << right if sign == "<<" else left >> right
    if sign == "/":
        return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    if sign == "%":
        return left - _applied("/", left, right) * right
    return {"+": left + right, "-": left - right, "*": left * right, "&": left & right, "|": left | right}[sign]
