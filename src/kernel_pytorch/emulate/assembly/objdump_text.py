"""Reads what llvm-objdump --disassemble writes about an AMD code object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernel_pytorch.emulate.assembly.instruction import (
    AssemblyError,
    Function,
    Instruction,
    Label,
    Listing,
    OperandPlace,
)
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction

_HEADER = re.compile(r"^([0-9a-f]{8,16}) <(.+)>:$")
_CODE = re.compile(r"^\t(.+?)\s*// ([0-9A-F]+):(?: [0-9A-F]+)+(?: <(.+?)(?:\+0x([0-9a-fA-F]+))?>)?\s*$")
_PLACE = re.compile(r"^; (.+):(\d+)$")
_BRANCH = re.compile(r"s_(c?branch|call)")


@dataclass(frozen=True)
class _Line:
    text: str
    address: int
    target: str | None  # the symbol llvm-objdump names behind a branch, and the distance from it
    distance: int
    place: OperandPlace | None


@dataclass
class _Code:
    name: str
    address: int
    lines: list[_Line] = field(default_factory=list)


def read_objdump_text(
    text: str,
    sizes: Mapping[str, int] | None = None,
    symbols: Mapping[str, int] | None = None,
    starts: Mapping[int, str] | None = None,
) -> Listing:
    """Functions of a disassembly.

    `sizes` (symbol -> bytes) keeps the padding behind a function out of it. `symbols` (name -> address) has those that
    the text does not show because another one stands at the same address. `starts` (address -> name) says where
    functions begin; without it every symbol is one, but for local labels.
    """
    functions: list[_Code] = []
    addresses: dict[str, int] = dict(symbols or {})
    place: OperandPlace | None = None
    for line in text.split("\n"):
        if match := _HEADER.match(line):
            name, address = match[2], int(match[1], 16)
            addresses[name] = address
            if starts is not None:
                if address in starts and (not functions or functions[-1].address != address):
                    functions.append(_Code(starts[address], address))
                    place = None
            # A module that keeps its local labels shows them like functions.
            elif not name.startswith(".L") or not functions:
                functions.append(_Code(name, address))
                place = None
        elif match := _PLACE.match(line):
            place = OperandPlace(match[1], int(match[2]))
        elif (match := _CODE.match(line)) and functions:
            functions[-1].lines.append(_Line(match[1], int(match[2], 16), match[3], int(match[4] or "0", 16), place))
    found = {code.name: _function(code, addresses, (sizes or {}).get(code.name, 0)) for code in functions}
    return Listing(found, starts={code.address: code.name for code in functions})


def _function(code: _Code, addresses: Mapping[str, int], size: int) -> Function:
    instructions: list[Instruction] = []
    targets: set[int] = set()
    for line in code.lines:
        if size and line.address >= code.address + size:
            continue
        try:
            one = parse_instruction(line.text, line.address, line.place)
        except AssemblyError as error:
            raise AssemblyError(f"{code.name} at 0x{line.address:x}: {error}") from None
        if _BRANCH.match(one.mnemonic):
            target = _target(one, line, addresses)
            if target is None:
                raise AssemblyError(f"{code.name} at 0x{line.address:x}: {line.text}: the branch target is not known")
            targets.add(target)
            one = replace(one, operands=(*one.operands[:-1], Label(f"0x{target:x}")))
        instructions.append(one)
    places = {one.address: index for index, one in enumerate(instructions)}
    labels = {f"0x{target:x}": places[target] for target in sorted(targets) if target in places}
    labels[code.name] = 0
    return Function(code.name, tuple(instructions), labels, code.address)


def _target(one: Instruction, line: _Line, addresses: Mapping[str, int]) -> int | None:
    operand = one.operands[-1] if one.operands else None
    if isinstance(operand, Label) and operand.name in addresses:
        return addresses[operand.name]
    if line.target is not None and line.target in addresses:
        return addresses[line.target] + line.distance
    return None
