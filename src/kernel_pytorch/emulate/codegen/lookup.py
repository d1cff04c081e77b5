"""The table's row for an instruction."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Instruction
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.isa.row import Row
from kernel_pytorch.emulate.isa.table import find


def row_for(em: Emission, instruction: Instruction) -> Row:
    """The row, or an error that names the mnemonic and the kernel."""
    row = find(instruction.mnemonic, em.shape.target)
    if row is None:
        raise em.error(f"instruction {instruction.mnemonic} is not in the table for {em.shape.target}")
    return row
