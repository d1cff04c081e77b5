"""Instructions that see the whole wave at once."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Decimal, Instruction, Number, Operand, Register
from kernel_pytorch.emulate.codegen.bodies import fill, statements
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.flush import flush
from kernel_pytorch.emulate.codegen.lane_run import row_of
from kernel_pytorch.emulate.codegen.operands import constant, raw_scalar, typed, write_scalar
from kernel_pytorch.emulate.isa.row import RESULT_NAMES, SOURCE_NAMES, TYPES, Row


def emit_wave(em: Emission, instruction: Instruction, row: Row) -> None:
    """One instruction whose row works on whole registers."""
    flush(em)
    for name, value in instruction.modifiers.items():
        if f"{name}[2]" in row.modifiers and isinstance(value, tuple) and not any(value[:2]):
            continue  # of the third source only
        if name not in row.modifiers or isinstance(value, str):
            shown = f"{name}:{value}" if isinstance(value, str) else name
            raise em.error(f"modifier {shown} is not known for {instruction.mnemonic}")
    operands = instruction.operands
    if len(operands) != len(row.results) + len(row.sources):
        raise em.error(f"{len(operands)} operands where the table has {len(row.results) + len(row.sources)}")
    em.put("{")
    em.put(f"w->at = {em.place()}u;")
    for position, (operand, kind) in enumerate(zip(operands[len(row.results) :], row.sources, strict=True)):
        name = SOURCE_NAMES[position]
        if kind[0] == "v":
            _rows(em, name, operand, int(kind[1:]), "f64" in instruction.mnemonic)
        else:
            em.put(f"const {TYPES[kind][0]} {name} = {typed(em, raw_scalar(em, operand, kind), kind)};")
    after: list[str] = []
    for position, (operand, kind) in enumerate(zip(operands, row.results, strict=False)):
        name = RESULT_NAMES[position]
        if kind.lstrip("+")[0] == "v":
            if not isinstance(operand, Register) or operand.file not in ("v", "a"):
                raise em.error(f"operand {operand} cannot be a vector result")
            em.put(f"uint32_t *const {name} = {row_of((operand.file, operand.index))};")
        else:
            wide = kind == "s2"
            em.put(f"{'uint64_t' if wide else 'uint32_t'} {name};")
            after += write_scalar(em, operand, name, "u64" if wide else "u32")
    scalar_result = bool(row.results) and row.results[0].lstrip("+")[0] == "s"
    body = fill(row.body, {**instruction.modifiers, "spilled": _keeps_scalars(em, operands)})
    em.put(statements(body, scalar_result))
    for line in after:
        em.put(line)
    em.put("}")


def _keeps_scalars(em: Emission, operands: tuple[Operand, ...]) -> bool:
    """Whether the register read holds spilled scalars: then its lanes have values whether they are on or not."""
    return any(isinstance(one, Register) and one.file == "v" and one.index in em.lane_written for one in operands)


def _rows(em: Emission, name: str, operand: Operand, count: int, pairs: bool) -> None:
    """A pointer to `count` registers; a scalar or a constant (64 bits for `pairs`) is spread over the lanes first."""
    if isinstance(operand, Register) and operand.file in ("v", "a"):
        em.put(f"const uint32_t *const {name} = {row_of((operand.file, operand.index))};")
        return
    em.put(f"uint32_t {name}_all[{count} * WAVE];")
    for word in range(count):
        if isinstance(operand, (Number, Decimal)):
            value = constant(operand, "u32")
            if pairs and count % 2 == 0:
                value = f"(uint32_t)({constant(operand, 'f64')} >> {32 * (word % 2)})"
        elif isinstance(operand, Register) and operand.file == "s":
            value = raw_scalar(em, Register("s", operand.index + min(word, operand.count - 1)), "u32")
        else:
            value = raw_scalar(em, operand, "u32")
        em.put(f"for (int l = 0; l < WAVE; l++) {name}_all[{word} * WAVE + l] = {value};")
    em.put(f"const uint32_t *const {name} = {name}_all;")
