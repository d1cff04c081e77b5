"""Sub-dword addressing of gfx9 and gfx10."""

from __future__ import annotations

from .state import Wave
from .text import Instruction, Operand

FIELDS = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
    "DWORD": (0, 32),
}


def sdwa_read(instruction: Instruction, operand: Operand, position: int, whole: int, width: int) -> int:
    """The selected part of a source, extended to 32 bits; floats use it as it is."""
    shift, bits = FIELDS[instruction.modifiers.get(f"src{position}_sel", "DWORD")]
    part = whole >> shift & ((1 << bits) - 1)
    if operand.sign_extend and part >> (bits - 1):
        part |= 0xFFFFFFFF << bits
    return part & ((1 << width) - 1)


def sdwa_write(wave: Wave, instruction: Instruction, destination: Operand, lane: int, bits: int, width: int) -> None:
    """Put the result into the selected part; the rest is kept, cleared or filled with the sign."""
    shift, count = FIELDS[instruction.modifiers.get("dst_sel", "DWORD")]
    unused = instruction.modifiers.get("dst_unused", "UNUSED_PAD")
    old = wave.read_lane("v", destination.register, lane)
    bits &= (1 << width) - 1
    part = bits & ((1 << count) - 1)
    placed = part << shift
    field = ((1 << count) - 1) << shift
    if count == 32:
        result = bits
    elif unused == "UNUSED_PRESERVE":
        result = old & ~field | placed
    elif unused == "UNUSED_SEXT":
        result = placed | (0xFFFFFFFF << (shift + count) if part >> (count - 1) else 0)
    else:
        result = placed
    wave.write_lane("v", destination.register, lane, result)
