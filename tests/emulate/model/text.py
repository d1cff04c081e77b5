"""Reading one line of AMDGPU assembly into mnemonic, operands and modifiers."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from .softfloat import F16, F32, F64, Format, convert

SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_dpp8", "_dpp", "_sdwa", "_vi", "_e96")


@dataclass(frozen=True)
class Operand:
    kind: str  # "v", "a", "s", "constant", "exec", "scc", "null", "off", "name"
    register: int = 0
    count: int = 1
    value: int = 0  # of an integer constant
    number: float | None = None  # of a floating-point constant
    negative: bool = False
    absolute: bool = False
    sign_extend: bool = False
    half: str = ""  # "l" or "h"
    text: str = ""


@dataclass(frozen=True)
class Instruction:
    mnemonic: str  # without encoding suffix
    suffix: str
    operands: tuple[Operand, ...]
    modifiers: dict[str, str]

    def bits(self, name: str, count: int, default: int = 0) -> list[int]:
        """op_sel:[0,1] and its kind as a list of `count` bits."""
        given = [int(x) for x in self.modifiers[name].strip("[]").split(",")] if name in self.modifiers else []
        return given + [default] * (count - len(given))

    def number(self, name: str, default: int = 0) -> int:
        return int(self.modifiers.get(name, str(default)), 0)


def base_mnemonic(word: str) -> tuple[str, str]:
    for suffix in SUFFIXES:
        if word.endswith(suffix):
            return word[: -len(suffix)], suffix
    return word, ""


def _split(text: str, separator: str) -> list[str]:
    parts, depth, bars, current = [], 0, 0, ""
    for c in text:
        depth += (c in "[(") - (c in "])")
        bars ^= c == "|"
        if (c == separator or (separator == " " and c.isspace())) and depth == 0 and not bars:
            parts.append(current)
            current = ""
        else:
            current += c
    parts.append(current)
    return [p.strip() for p in parts if p.strip()]


NAMED = {
    "vcc": ("s", 106, 2),
    "vcc_lo": ("s", 106, 1),
    "vcc_hi": ("s", 107, 1),
    "m0": ("s", 124, 1),
    "exec": ("exec", 0, 2),
    "exec_lo": ("exec", 0, 1),
    "exec_hi": ("exec", 1, 1),
    "scc": ("scc", 0, 1),
    "src_scc": ("scc", 0, 1),
    "null": ("null", 0, 1),
    "off": ("off", 0, 1),
}
INLINE_FLOATS = {0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0}
INVERSE_2PI = {F16: 0x3118, F32: 0x3E22F983, F64: 0x3FC45F306DC9C882}


def parse_operand(text: str) -> Operand:
    negative = absolute = extend = False
    if re.fullmatch(r"sext\(.*\)", text):
        text, extend = text[5:-1], True
    if re.fullmatch(r"-[|vsae].*", text) or text.startswith("neg("):
        text, negative = (text[4:-1] if text.startswith("neg(") else text[1:]), True
    if text.startswith("|"):
        text, absolute = text.strip("|"), True
    if text.startswith("abs("):
        text, absolute = text[4:-1], True
    common = {"negative": negative, "absolute": absolute, "sign_extend": extend, "text": text}
    m = re.fullmatch(r"([vsa])(\d+)(?:\.([lh]))?", text)
    if m:
        return Operand(m[1], int(m[2]), 1, half=m[3] or "", **common)  # type: ignore[arg-type]
    m = re.fullmatch(r"([vsa])\[(\d+):(\d+)\]", text)
    if m:
        return Operand(m[1], int(m[2]), int(m[3]) - int(m[2]) + 1, **common)  # type: ignore[arg-type]
    if text in NAMED:
        kind, register, count = NAMED[text]
        return Operand(kind, register, count, **common)  # type: ignore[arg-type]
    if re.fullmatch(r"[-+]?(0x[0-9a-fA-F]+|\d+)", text):
        return Operand("constant", value=int(text, 0), **common)  # type: ignore[arg-type]
    if re.fullmatch(r"[-+]?\d+\.\d*(e[-+]?\d+)?", text):
        return Operand("constant", number=float(text), **common)  # type: ignore[arg-type]
    return Operand("name", **common)  # type: ignore[arg-type]


def parse(line: str) -> Instruction:
    word, _, rest = line.strip().partition(" ")
    mnemonic, suffix = base_mnemonic(word)
    chunks = _split(rest, ",")
    operands: list[str] = []
    modifiers: dict[str, str] = {}
    for chunk in chunks:
        for i, token in enumerate(_split(chunk, " ")):
            key, colon, value = token.partition(":")
            is_operand = i == 0 and not (re.fullmatch(r"[a-z_0-9]+", key) and colon)
            if is_operand:
                operands.append(token)
            else:
                modifiers[key] = value if colon else "1"
    return Instruction(mnemonic, suffix, tuple(parse_operand(o) for o in operands), modifiers)


def float_bits(f: Format, number: float) -> int:
    """The bits of a floating-point constant of an operand of this format."""
    if abs(number - 0.15915494) < 1e-8 and f in INVERSE_2PI:
        return INVERSE_2PI[f]
    wide = struct.unpack("<Q", struct.pack("<d", number))[0]
    return wide if f is F64 else convert(F64, f, wide)
