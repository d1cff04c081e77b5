"""Scalar instructions: plain C on the variables of scalar registers."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Instruction, Operand, Register
from kernel_pytorch.emulate.codegen.bodies import statements
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.flush import flush
from kernel_pytorch.emulate.codegen.operands import (
    is_wide,
    raw_scalar,
    result_bits,
    scalar_registers,
    signed,
    typed,
    write_scalar,
)
from kernel_pytorch.emulate.isa.row import RESULT_NAMES, SOURCE_NAMES, TYPES, Row


def settle(em: Emission, operands: tuple[Operand, ...], writes_exec: bool = False) -> None:
    """Finish the run where a scalar instruction needs or replaces what only its loop will set."""
    if em.run is None:
        return
    if writes_exec:
        flush(em)
        return
    pending = em.run.mask_registers(em.shape.wave)
    if any(scalar_registers(operand) & pending for operand in operands):
        flush(em)


def emit_scalar(em: Emission, instruction: Instruction, row: Row) -> None:
    """One scalar instruction."""
    if instruction.modifiers:
        raise em.error(f"modifier {next(iter(instruction.modifiers))} is not known for {instruction.mnemonic}")
    operands = instruction.operands
    if len(operands) != len(row.results) + len(row.sources):
        raise em.error(f"{len(operands)} operands where the table has {len(row.results) + len(row.sources)}")
    results = operands[: len(row.results)]
    sources = operands[len(row.results) :]
    exec_written = row.writes_exec or any(isinstance(one, Register) and one.file == "exec" for one in results)
    settle(em, operands, exec_written)
    lines: list[str] = []
    for position, (operand, kind) in enumerate(zip(sources, row.sources, strict=True)):
        value = typed(em, signed(raw_scalar(em, operand, kind), operand, kind), kind)
        lines.append(f"const {TYPES[kind][0]} {SOURCE_NAMES[position]} = {value};")
    for position, (operand, kind) in enumerate(zip(results, row.results, strict=True)):
        plain = kind.removeprefix("+")
        start = " = " + typed(em, raw_scalar(em, operand, plain), plain) if kind.startswith("+") else ""
        lines.append(f"{TYPES[plain][0]} {RESULT_NAMES[position]}{start};")
    if row.writes_exec:
        lines.append(f"{TYPES[row.sources[0]][0]} x = ({TYPES[row.sources[0]][0]})ex;")
    lines.append(statements(row.body, bool(row.results)))
    if row.writes_exec:
        keep = "ex = x;" if is_wide(row.sources[0]) or em.shape.wave == 32 else "ex = (ex & ~UINT64_C(0xffffffff)) | x;"
        lines.append(keep)
    for position, (operand, kind) in enumerate(zip(results, row.results, strict=True)):
        plain = kind.removeprefix("+")
        lines += write_scalar(em, operand, result_bits(em, RESULT_NAMES[position], plain), plain)
    em.put(f"{{ {' '.join(lines)} }}")
