"""Reads the assembly text a compiler writes with -S (clang, zig's clang, Triton's `asm["amdgcn"]`)."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from kernel_pytorch.emulate.assembly.instruction import (
    AssemblyError,
    Data,
    Function,
    Instruction,
    Listing,
    OperandPlace,
)
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction

_SYMBOL_LABEL = re.compile(r'("[^"]+"|[\w.$@]+):')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
#: The places in the compiler's comment behind .loc: the instruction's own first, then where that was inlined.
_FRAME = re.compile(r"([^\s\[\]]+):(\d+):\d+")
#: Headers of a compiler, a C++ library, HIP or one of its libraries, wherever they are installed.
_LIBRARY = re.compile(r"(^|/)(usr/include|opt/rocm[^/]*|lib/clang|amd_detail|site-packages|toolchain/include)/")
#: gfx1250 has 1024 vector registers and eight bits for each: the comment says which one s_set_vgpr_msb makes of it.
_HIGH_REGISTER = re.compile(r"\bv[\d\[\]:.lh]+ /\*(v[\d\[\]:.lh]+)\*/")
_SET = re.compile(r"\.set\s+([\w.$]+),\s*(-?\d+)\Z")
_SIZES = {".byte": 1, ".short": 2, ".hword": 2, ".2byte": 2, ".long": 4, ".4byte": 4, ".quad": 8, ".8byte": 8}


@dataclass
class _Code:
    name: str
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass
class _Bytes:
    align: int
    content: bytearray | None = field(default_factory=bytearray)


@dataclass
class _Reader:
    functions: dict[str, _Code] = field(default_factory=dict)
    data: dict[str, _Bytes] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    function_names: set[str] = field(default_factory=set)
    in_text: bool = True
    code: _Code | None = None
    symbol: _Bytes | None = None
    align: int = 1
    place: OperandPlace | None = None


def read_compiler_text(text: str) -> Listing:
    """Functions, data and values of a module's assembly text. Raises AssemblyError that names the line."""
    reader = _Reader()
    reader.function_names = set(re.findall(r"^\s*\.type\s+([^\s,]+),\s*[@%]function", text, re.MULTILINE))
    for number, line in enumerate(text.split("\n"), 1):
        stripped = _HIGH_REGISTER.sub(r"\1", _without_comment(line))
        if not stripped:
            continue
        try:
            _line(reader, stripped)
            if "@[" in line and stripped.startswith(".loc"):
                reader.place = _outside_libraries(reader, line) or reader.place
        except AssemblyError as error:
            raise AssemblyError(f"line {number}: {error}") from None
    return Listing(
        {name: Function(name, tuple(code.instructions), dict(code.labels)) for name, code in reader.functions.items()},
        {
            name: Data(name, found.align, None if found.content is None else bytes(found.content))
            for name, found in reader.data.items()
        },
        reader.values,
    )


def _outside_libraries(reader: _Reader, line: str) -> OperandPlace | None:
    """Where code of a library's header was inlined into the program's own: that line is the one to name."""
    for name, number in _FRAME.findall(line.partition(";")[2]):
        if not _LIBRARY.search(name):
            named = next((file for file in reader.files.values() if file == name or file.endswith(f"/{name}")), name)
            return OperandPlace(named, int(number))
    return None


def _without_comment(line: str) -> str:
    if ";" in line:
        quoted = False
        for at, character in enumerate(line):
            if character == '"' and (at == 0 or line[at - 1] != "\\"):
                quoted = not quoted
            elif character == ";" and not quoted:
                return line[:at].strip()
    return line.strip()


def _line(reader: _Reader, text: str) -> None:
    if match := _SYMBOL_LABEL.match(text):
        _label(reader, match[1].strip('"'))
        rest = text[match.end() :].strip()
        if rest:
            _line(reader, rest)
    elif text.startswith("."):
        _directive(reader, text)
    elif reader.code is not None and reader.in_text:
        reader.code.instructions.append(parse_instruction(text, None, reader.place))


def _label(reader: _Reader, name: str) -> None:
    if reader.in_text:
        if name in reader.function_names:
            reader.code = reader.functions.setdefault(name, _Code(name))
            reader.place = None
        if reader.code is not None:
            reader.code.labels[name] = len(reader.code.instructions)
    else:
        reader.symbol = reader.data.setdefault(name, _Bytes(reader.align))


def _directive(reader: _Reader, text: str) -> None:
    name, _, rest = text.partition("\t") if "\t" in text else text.partition(" ")
    rest = rest.strip()
    if name == ".text" or (name == ".section" and rest.startswith(".text")):
        reader.in_text = True
        reader.symbol = None
    elif name in (".section", ".data", ".bss", ".rodata"):
        reader.in_text = False
        reader.symbol = None
        reader.align = 1
    elif name == ".p2align" and not reader.in_text:
        reader.align = 1 << int(rest.split(",")[0], 0)
        reader.symbol = None
    elif name == ".loc":
        match = _LOC.match(f".loc {rest}")
        if match:
            reader.place = OperandPlace(reader.files.get(match[1], ""), int(match[2]))
    elif name == ".file":
        match = _FILE.match(f".file {rest}")
        if match:
            joined = f"{match[2]}/{match[3]}" if match[3] and not match[3].startswith("/") else (match[3] or match[2])
            reader.files[match[1]] = joined.removeprefix("./")
    elif name == ".set":
        match = _SET.match(f".set {rest}")
        if match:
            reader.values[match[1]] = int(match[2])
    elif reader.symbol is not None:
        _datum(reader.symbol, name, rest)


def _datum(symbol: _Bytes, name: str, rest: str) -> None:
    if symbol.content is None:
        return
    if name in _SIZES:
        size = _SIZES[name]
        for part in rest.split(","):
            try:
                value = int(part.strip(), 0)
            except ValueError:
                symbol.content = None
                return
            symbol.content += (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    elif name in (".zero", ".skip"):
        fields = [int(part, 0) for part in rest.split(",")]
        symbol.content += bytes([fields[1] & 255 if len(fields) > 1 else 0]) * fields[0]
    elif name in (".ascii", ".asciz", ".string"):
        symbol.content += _text_bytes(rest) + (b"" if name == ".ascii" else b"\0")
    elif name == ".fill":
        parts = [int(part, 0) for part in rest.split(",")]
        size = parts[1] if len(parts) > 1 else 1
        value = parts[2] if len(parts) > 2 else 0
        symbol.content += struct.pack("<Q", value & (2**64 - 1))[:size] * parts[0]


def _text_bytes(quoted: str) -> bytes:
    body = quoted.strip()[1:-1]
    found = bytearray()
    at = 0
    escapes = {"n": 10, "t": 9, "r": 13, "b": 8, "f": 12, "\\": 92, '"': 34}
    while at < len(body):
        if body[at] != "\\":
            found += body[at].encode("latin-1", errors="replace")
            at += 1
        elif match := re.match(r"\\([0-7]{1,3})", body[at:]):
            found.append(int(match[1], 8) & 255)
            at += len(match[0])
        else:
            found.append(escapes.get(body[at + 1], ord(body[at + 1])))
            at += 2
    return bytes(found)
