"""The generated table of opcodes: which instruction a format and an opcode are on a target, and how it is written.

A row: targets, format, opcode, mnemonic, operands, modifiers. An operand is `field:kind`, or text that is always the
same. A kind is a letter, the number of registers, and a letter for the type of constants:

    v  vector registers       a  accumulation registers      w  the one or the other, as a bit of the instruction says
    x  a source of any kind   s  scalar registers only       h  a 16-bit half, by the highest bit of the register
    g  a 16-bit half, by a bit of op_sel                     k  the literal that always follows (l: small ones decimal)
    n  a number
    z  an offset of so many bits, 0 for one without sign      q  sdst of VOPC_SDWA     e  a message     j  index modes

Image instructions (MIMG, VIMAGE, VSAMPLE) have a mnemonic, and on gfx9 how many registers of coordinates are written:
images.py knows the rest.

In front of the field, `M0.` to `M2.` have signs and absolute values, `N0.` to `N2.` signs only, `S0.` and `S1.` sign
extensions.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data" / "opcodes.csv"


@dataclass(frozen=True)
class Row:
    """How one opcode is written."""

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]


@cache
def rows_of(target: str) -> Mapping[tuple[str, int], Row]:
    """(format, opcode) -> row."""
    found = {}
    with DATA.open(encoding="utf-8", newline="") as stream:
        for targets, form, opcode, mnemonic, operands, modifiers in csv.reader(stream):
            if target in targets.split():
                row = Row(mnemonic, tuple(operands.split("|")) if operands else (), tuple(modifiers.split()))
                found[form, int(opcode)] = row
    return found


@cache
def decodable_targets() -> tuple[str, ...]:
    """The targets that the table has opcodes of, in the order of their numbers."""
    with DATA.open(encoding="utf-8", newline="") as stream:
        found = {target for row in csv.reader(stream) for target in row[0].split()}
    return tuple(sorted(found, key=lambda name: (len(name), name)))


@cache
def names_of(target: str) -> Mapping[tuple[str, int], str]:
    """Names of hardware registers and messages."""
    return {key: row.mnemonic for key, row in rows_of(target).items() if key[0] in ("HWREG", "MESSAGE")}
