"""PTX text to instructions. Only the syntax: what an opcode means is said elsewhere."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Ref:
    """`%0`: an operand of the asm statement."""

    index: int


@dataclass(frozen=True)
class Register:
    """A register declared in the block, or an undeclared name."""

    name: str


@dataclass(frozen=True)
class Special:
    """A special register such as `%laneid`, without the percent sign."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A literal: an integer, or the bits of a float with its width."""

    value: int
    float_bits: int = 0  # 0: integer; 32 or 64: `value` holds the bits of a float of that width


@dataclass(frozen=True)
class Address:
    """`[base + offset]`."""

    base: Operand
    offset: int = 0


@dataclass(frozen=True)
class Vector:
    """`{a, b, c, d}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`d|p`: a value and a predicate written by one instruction."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Negated:
    """`!p`."""

    operand: Operand


Operand = Union[Ref, Register, Special, Immediate, Address, Vector, Pair, Negated]  # noqa: UP007 - names used above


@dataclass(frozen=True)
class Guard:
    """`@p` or `@!p` in front of an instruction."""

    operand: Operand
    is_negated: bool


@dataclass(frozen=True)
class Instruction:
    """One instruction: `ld.global.nc.f32 %0, [%1]` has opcode `ld` and modifiers `global`, `nc`, `f32`."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    text: str

    @property
    def name(self) -> str:
        """Opcode and modifiers as written."""
        return ".".join((self.opcode, *self.modifiers))

    def has(self, *modifiers: str) -> bool:
        """Whether any of the modifiers is there."""
        return any(modifier in self.modifiers for modifier in modifiers)


@dataclass(frozen=True)
class RegisterDeclaration:
    """`.reg .u32 a, b;`"""

    type: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class PtxProgram:
    """The statements of a template in order; braces only scope names, which must then be unique."""

    statements: tuple[Instruction | RegisterDeclaration, ...]

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Without the declarations."""
        return tuple(item for item in self.statements if isinstance(item, Instruction))


class PtxSyntaxError(ValueError):
    """The text is not PTX, or PTX this parser does not know. The message says which part."""


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INSTRUCTION = re.compile(
    r"(?:@(?P<not>!?)\s*(?P<guard>[%\w$]+)\s+)?(?P<opcode>[A-Za-z]\w*)(?P<mods>(?:\.[\w:]+)*)(?P<rest>.*)\Z", re.DOTALL
)
_DECLARATION = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.*)\Z", re.DOTALL)
_RANGE = re.compile(r"([%\w$]+)<(\d+)>\Z")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?\Z")
_HEX_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})\Z|0[dD]([0-9a-fA-F]{16})\Z")
_DECIMAL_FLOAT = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?\Z")
_NAME = re.compile(r"[A-Za-z_$][\w$.]*\Z|_\Z")
_MAX_RANGE = 64


def parse_program(template: str, operand_names: tuple[str, ...] = ()) -> PtxProgram:
    """The program of an asm template. Raises PtxSyntaxError."""
    text = _COMMENT.sub(" ", template)
    text = re.sub(r"%\[(\w+)\]", lambda found: _named(found.group(1), operand_names), text)
    statements: list[Instruction | RegisterDeclaration] = []
    for piece in _pieces(text):
        statements.append(_statement(piece, operand_names))
    return PtxProgram(tuple(statements))


def _named(name: str, operand_names: tuple[str, ...]) -> str:
    if name not in operand_names:
        raise PtxSyntaxError(f"operand name {name} is not declared")
    return f"%{operand_names.index(name)}"


def _pieces(text: str) -> list[str]:
    """Splits at semicolons; braces that open a block (not a vector) are dropped."""
    pieces: list[str] = []
    current = ""
    depth = 0  # of vector braces
    blocks = 0
    for char in text:
        if char == "{" and (depth or current.strip()):
            depth += 1
        elif char == "}" and depth:
            depth -= 1
        elif char in "{}":
            if current.strip():
                raise PtxSyntaxError(f"no semicolon after {current.strip()!r}")
            blocks += 1 if char == "{" else -1
            if blocks < 0:
                raise PtxSyntaxError("a brace closes nothing")
            continue
        elif char == ";" and not depth:
            if current.strip():
                pieces.append(current.strip())
            current = ""
            continue
        current += char
    if depth or blocks:
        raise PtxSyntaxError("a brace never closes")
    if current.strip():
        pieces.append(current.strip())  # the last semicolon may be missing: nvcc adds a newline, ptxas then complains
    return pieces


def _statement(piece: str, operand_names: tuple[str, ...]) -> Instruction | RegisterDeclaration:
    declaration = _DECLARATION.match(piece)
    if declaration:
        return RegisterDeclaration(declaration.group(1), _declared(declaration.group(2)))
    found = _INSTRUCTION.match(piece)
    if not found or piece.startswith("."):
        raise PtxSyntaxError(f"{piece.split()[0]!r} starts no PTX instruction")
    rest = found.group("rest")
    if rest.lstrip().startswith(":"):
        raise PtxSyntaxError(f"label {found.group('opcode')}: the block has branches")
    if rest and not rest[0].isspace() and rest[0] not in "[{(%":
        raise PtxSyntaxError(f"{piece.split()[0]!r} starts no PTX instruction")
    guard = None
    if found.group("guard"):
        guard = Guard(_operand(found.group("guard")), found.group("not") == "!")
    operands = tuple(_operand(item) for item in _split_commas(rest))
    modifiers = tuple(item for item in found.group("mods").split(".") if item)
    return Instruction(found.group("opcode"), modifiers, operands, guard, re.sub(r"\s+", " ", piece))


def _declared(text: str) -> tuple[str, ...]:
    names: list[str] = []
    for word in (item.strip() for item in text.split(",")):
        numbered = _RANGE.match(word)
        if numbered:
            if int(numbered.group(2)) > _MAX_RANGE:
                raise PtxSyntaxError(f".reg {word} declares more than {_MAX_RANGE} registers")
            names += [f"{numbered.group(1).lstrip('%')}{index}" for index in range(int(numbered.group(2)))]
        elif re.fullmatch(r"%{0,2}[A-Za-z_$][\w$]*", word):
            names.append(word.lstrip("%"))
        else:
            raise PtxSyntaxError(f"register name {word!r}")
    return tuple(names)


def _split_commas(text: str) -> list[str]:
    items: list[str] = []
    current = ""
    depth = 0
    for char in text:
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            items.append(current.strip())
            current = ""
        else:
            current += char
    if current.strip() or items:
        items.append(current.strip())
    return items


def _operand(text: str) -> Operand:
    if not text:
        raise PtxSyntaxError("an operand is missing")
    if text.startswith("[") and text.endswith("]"):
        return _address(text[1:-1].strip())
    if text.startswith("{") and text.endswith("}"):
        return Vector(tuple(_operand(item) for item in _split_commas(text[1:-1])))
    if text.startswith("!"):
        return Negated(_operand(text[1:].strip()))
    if "|" in text:
        first, _, second = text.partition("|")
        return Pair(_operand(first.strip()), _operand(second.strip()))
    if re.fullmatch(r"%\d+", text):
        return Ref(int(text[1:]))
    if text.startswith("%"):
        name = text.lstrip("%")
        if not _NAME.match(name):
            raise PtxSyntaxError(f"operand {text!r}")
        return Special(name)
    literal = _literal(text)
    if literal is not None:
        return literal
    if not _NAME.match(text):
        raise PtxSyntaxError(f"operand {text!r}")
    return Register(text)


def _literal(text: str) -> Immediate | None:
    hex_float = _HEX_FLOAT.match(text)
    if hex_float:
        bits = hex_float.group(1) or hex_float.group(2)
        return Immediate(int(bits, 16), 32 if hex_float.group(1) else 64)
    if _INTEGER.match(text):
        return Immediate(integer(text.rstrip("U")))
    if _DECIMAL_FLOAT.match(text):
        return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), 64)
    return None


def integer(text: str) -> int:
    """A PTX or C integer literal: hexadecimal, octal, binary or decimal."""
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("-")
    if digits.lower().startswith(("0x", "0b")):
        return sign * int(digits, 0)
    return sign * int(
        digits,
        8
        if len(digits) > 1 and digits.startswith("0") and digits.isdigit() and "8" not in digits and "9" not in digits
        else 10,
    )


def _address(text: str) -> Address:
    found = re.fullmatch(r"(.+?)\s*(?:([+-])\s*(-?\w+))?", text, re.DOTALL)
    if not found:
        raise PtxSyntaxError(f"address [{text}]")
    base, sign, offset = found.groups()
    if "," in base or base.startswith("{"):
        raise PtxSyntaxError(f"address [{text}] has coordinates")
    if offset is None:
        return Address(_operand(base.strip()))
    if not _INTEGER.match(offset):
        raise PtxSyntaxError(f"address [{text}] has an offset that is not a number")
    return Address(_operand(base.strip()), integer(offset) * (-1 if sign == "-" else 1))
