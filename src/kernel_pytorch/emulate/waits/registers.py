"""The registers an instruction reads and writes, exactly as its operands name them.

`codegen/effects.py` may name more than are touched, since keeping a value too long does no harm there. Here a register
too many would be a false finding.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.emulate.assembly.instruction import M0, VCC, Instruction, Operand, Raw, Register
from kernel_pytorch.emulate.assembly.operand_text import parse_operand, split_operands
from kernel_pytorch.emulate.codegen.memory_code import returns_old
from kernel_pytorch.emulate.isa.row import Row

Key = tuple[str, int]  # register file and number
_WRITES_FIRST = frozenset({"getpc", "swappc", "call", "getreg", "sendmsg_rtn", "v_movrels", "movrels"})


@dataclass(frozen=True)
class Use:
    """What one instruction (or both of a v_dual pair) reads and writes."""

    reads: frozenset[Key]
    writes: frozenset[Key]


def use(parts: list[tuple[Instruction, Row]], wave: int) -> Use:
    """The registers of an instruction with its row, or of the two of a pair."""
    reads: set[Key] = set()
    writes: set[Key] = set()
    for instruction, row in parts:
        operands = _operands(instruction)
        results = _results(instruction, row, operands)
        for operand in operands[:results]:
            writes |= _keys(operand)
        for operand in operands[results:]:
            reads |= _keys(operand)
        for position, kind in enumerate(row.results[:results]):
            if kind.startswith("+") and row.kind != "memory":
                reads |= _keys(operands[position])
        if row.kind == "memory" and row.fact("space") in ("BUFFER", "SCALAR") and row.fact("operation"):
            reads |= _keys(operands[0])  # an atomic gives back the old value where its operand was
        reads |= _unnamed(instruction, row, operands, wave)
    return Use(frozenset(reads), frozenset(writes))


def _operands(instruction: Instruction) -> list[Operand]:
    operands = list(instruction.operands)
    if instruction.mnemonic.startswith(("s_sendmsg_rtn", "s_sleep_var")) and isinstance(operands[0], Raw):
        pieces, _ = split_operands(operands[0].text)
        return [parse_operand(pieces[0])] if pieces else []
    return operands


def _results(instruction: Instruction, row: Row, operands: list[Operand]) -> int:
    """How many of the first operands are written."""
    if row.kind == "control":
        return 1 if row.fact("action") in _WRITES_FIRST and operands else 0
    if row.kind != "memory":
        if row.writes_exec and row.kind == "lane" and len(operands) == len(row.sources):
            return 0  # v_cmpx from gfx10 on: EXEC is not named
        return min(len(row.results), len(operands))
    action = row.fact("action").removeprefix("buffer_")
    if action in ("load", "load2", "load_part", "clock", "load_at_lane", "count_lanes", "exchange2"):
        return 0 if instruction.modifiers.get("lds") else 1
    if action == "atomic":
        return int(returns_old(instruction) or row.fact("returns") == "yes")
    return 0


def _keys(operand: Operand) -> set[Key]:
    if isinstance(operand, Register) and operand.file in ("v", "a", "s"):
        return {(operand.file, operand.index + at) for at in range(operand.count)}
    return set()


def _unnamed(instruction: Instruction, row: Row, operands: list[Operand], wave: int) -> set[Key]:
    """What is read without being an operand."""
    vcc = {("s", VCC), ("s", VCC + 1)} if wave == 64 else {("s", VCC)}
    if row.kind == "control":
        if row.fact("action") == "branch_if" and row.fact("reads") == "vcc":
            return vcc
        return {("s", M0)} if row.fact("action") == "sendmsg" else set()
    if row.kind == "memory":
        at_m0 = row.fact("action") in ("load_to_lds", "count_lanes", "store_at_lane", "load_at_lane")
        return {("s", M0)} if at_m0 or instruction.modifiers.get("lds") else set()
    if row.kind == "lane" and len(operands) - _results(instruction, row, operands) < len(row.sources):
        return vcc
    return set()
