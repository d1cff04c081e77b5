"""Scalar memory: loads of all targets, the stores and atomics of gfx9."""

from __future__ import annotations

from .atomics import updated
from .memory import load, store
from .registry import model, read_raw, scalar_dwords, signed
from .state import Wave
from .text import Instruction


def scalar_base(wave: Wave, instruction: Instruction) -> int:
    base = scalar_dwords(wave, instruction.operands[1].register, 2)
    if instruction.mnemonic.startswith("s_buffer"):
        base &= (1 << 48) - 1
    total = base + instruction.number("offset")
    if len(instruction.operands) > 2:
        total += read_raw(wave, instruction.operands[2], "u32", 0)
    return total & ~3 if instruction.mnemonic[-2:] not in ("u8", "i8", "16") else total


SCALAR_SIZES = {
    "dword": 1,
    "dwordx2": 2,
    "dwordx3": 3,
    "dwordx4": 4,
    "dwordx8": 8,
    "dwordx16": 16,
    "b32": 1,
    "b64": 2,
    "b96": 3,
    "b128": 4,
    "b256": 8,
    "b512": 16,
}


@model(*(f"{stem}_{size}" for stem in ("s_load", "s_buffer_load") for size in SCALAR_SIZES))
def scalar_load(wave: Wave, instruction: Instruction) -> None:
    count = SCALAR_SIZES[instruction.mnemonic.rsplit("_", 1)[1]]
    address = scalar_base(wave, instruction)
    for i in range(count):
        at = address + 4 * i
        if instruction.mnemonic.startswith("s_buffer"):
            limit = wave.s[instruction.operands[1].register + 2]
            base = scalar_dwords(wave, instruction.operands[1].register, 2) & (1 << 48) - 1
            value = load(wave, at, 4) if at - base + 4 <= limit else 0
        else:
            value = load(wave, at, 4)
        wave.s[instruction.operands[0].register + i] = value


def scalar_limit(wave: Wave, instruction: Instruction, address: int) -> int:
    """How many bytes from an address on a scalar access may touch: all, or what is left of its buffer."""
    if not instruction.mnemonic.startswith("s_buffer"):
        return 64
    register = instruction.operands[1].register
    return (scalar_dwords(wave, register, 2) & (1 << 48) - 1) + wave.s[register + 2] - address


@model(*(f"{stem}_store_{size}" for stem in ("s", "s_buffer") for size in ("dword", "dwordx2", "dwordx4")))
def scalar_store(wave: Wave, instruction: Instruction) -> None:
    address = scalar_base(wave, instruction)
    for i in range(SCALAR_SIZES[instruction.mnemonic.rsplit("_", 1)[1]]):
        if 4 * i + 4 <= scalar_limit(wave, instruction, address):
            store(wave, address + 4 * i, 4, wave.s[instruction.operands[0].register + i])


SCALAR_ATOMICS = ["swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec"]


@model(
    *(f"{stem}_atomic_{name}{wide}" for stem in ("s", "s_buffer") for name in SCALAR_ATOMICS for wide in ("", "_x2"))
)
def scalar_atomic(wave: Wave, instruction: Instruction) -> None:
    name = instruction.mnemonic.split("_atomic_")[1]
    bits = 64 if name.endswith("_x2") else 32
    address, data = scalar_base(wave, instruction), instruction.operands[0].register
    old = 0
    if bits // 8 <= scalar_limit(wave, instruction, address):
        old = load(wave, address, bits // 8)
        given = scalar_dwords(wave, data, bits // 32)
        if name.startswith("cmpswap"):
            new = given if old == scalar_dwords(wave, data + bits // 32, bits // 32) else old
        else:
            new = updated(name.removesuffix("_x2"), bits, old, given)
        store(wave, address, bits // 8, new)
    if "glc" in instruction.modifiers:
        for i in range(bits // 32):
            wave.s[data + i] = old >> (32 * i) & 0xFFFFFFFF


@model(*(f"{stem}_{kind}" for stem in ("s_load", "s_buffer_load") for kind in ("u8", "i8", "u16", "i16")))
def scalar_load_small(wave: Wave, instruction: Instruction) -> None:
    kind = instruction.mnemonic.rsplit("_", 1)[1]
    size = int(kind[1:]) // 8
    address = scalar_base(wave, instruction)
    value = load(wave, address, size) if size <= scalar_limit(wave, instruction, address) else 0
    wave.s[instruction.operands[0].register] = (signed(value, 8 * size) if kind[0] == "i" else value) & 0xFFFFFFFF
