"""Addresses of memory instructions as C."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Instruction, Named, Operand, Register
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.lane_run import row_of
from kernel_pytorch.emulate.codegen.operands import raw_scalar
from kernel_pytorch.emulate.isa.row import Row

_BYTES = {"U8": 1, "I8": 1, "U16": 2, "I16": 2, "16": 2, "W1": 4, "W2": 8, "W3": 12, "W4": 16}


def offset_of(instruction: Instruction, name: str = "offset") -> int:
    value = instruction.modifiers.get(name, 0)
    return value if isinstance(value, int) else 0


def vector_row(em: Emission, operand: Operand) -> str:
    """The lanes of a vector register as a pointer."""
    if isinstance(operand, Register) and operand.file in ("v", "a"):
        return row_of((operand.file, operand.index))
    raise em.error(f"operand {operand} is not a vector register")


def is_off(operand: Operand) -> bool:
    return isinstance(operand, Named) and operand.name in ("off", "null")


def half_kind(operand: Operand, kind: str) -> str:
    """gfx11 names the half of a register that a 16-bit access uses."""
    if isinstance(operand, Register) and operand.half == "h":
        return {"U8_LOW": "U8_HIGH", "I8_LOW": "I8_HIGH", "16_LOW": "16_HIGH", "U8": "U8_HIGH", "U16": "16_HIGH"}.get(
            kind, kind
        )
    return kind


def scalar_bytes(row: Row) -> int:
    """How many bytes a scalar load moves: what `scale_offset` multiplies the offset by."""
    moves = row.fact("moves").upper()
    return int(row.fact("bytes")) if row.fact("bytes") else _BYTES[moves]


def _lane_bytes(em: Emission, instruction: Instruction, row: Row) -> int:
    """What `scale_offset` multiplies a lane's offset by: the bytes that one lane moves."""
    if not instruction.modifiers.get("scale_offset"):
        return 1
    if row.fact("bits"):
        return int(row.fact("bits")) // 8
    found = _BYTES.get(row.fact("moves").partition("_")[0])
    if found is None:
        raise em.error("scale_offset is not known for this instruction")
    return found


def global_address(em: Emission, instruction: Instruction, row: Row, vector: Operand, scalar: Operand | None) -> str:
    """A vector register pair, or a scalar base and 32 bits of offset for each lane."""
    base = f"(uint64_t)(int64_t){offset_of(instruction)}"
    if scalar is None or is_off(scalar):
        low = vector_row(em, vector)
        return f"{low}, {low} + WAVE, {base}"
    base = f"{raw_scalar(em, scalar, 'u64')} + {base}"
    if is_off(vector):
        return f"0, 0, {base}"
    low = vector_row(em, vector)
    if not em.shape.is_gfx125:
        return f"{low}, 0, {base}"
    # Here the lane's offset has a sign, and may count elements instead of bytes.
    name = em.fresh("far")
    em.put(f"uint32_t {name}[2 * WAVE]; for (int l = 0; l < WAVE; l++) {{")
    em.put(f"const uint64_t far = (uint64_t)((int64_t)(int32_t){low}[l] * {_lane_bytes(em, instruction, row)});")
    em.put(f"{name}[l] = (uint32_t)far; {name}[WAVE + l] = (uint32_t)(far >> 32); }}")
    return f"{name}, {name} + WAVE, {base}"


def private_address(em: Emission, instruction: Instruction, row: Row, vector: Operand, scalar: Operand | None) -> str:
    """An offset in the lane's private memory: vector register, scalar register and constant, each if it is there."""
    base = f"(uint64_t)(int64_t){offset_of(instruction)}"
    if scalar is not None and not is_off(scalar):
        base = f"(uint64_t){raw_scalar(em, scalar, 'u32')} + {base}"
    low = "0" if is_off(vector) else vector_row(em, vector)
    size = _lane_bytes(em, instruction, row)
    if size > 1 and low != "0":
        name = em.fresh("far")
        em.put(f"uint32_t {name}[WAVE]; for (int l = 0; l < WAVE; l++) {name}[l] = {low}[l] * {size}u;")
        low = name
    return f"{low}, 0, {base}"
