"""WMMA and SWMMAC: 16 x 16 matrices on wave 32 of gfx11 and gfx12."""

from __future__ import annotations

import re
from collections.abc import Callable

from . import softfloat as sf
from .matrix import element_bits, sparse_columns
from .registry import model, read_raw, signed
from .small_floats import small_format, to_wide
from .softfloat import BF16, F16, F32, Format
from .state import Wave, generation
from .text import Instruction, Operand

NAME = re.compile(r"v_(s?)wmmac?_(f32|f16|bf16|i32)_16x16x(\d+)_(\w+)")
BITS = {"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4, "fp8": 8, "bf8": 8}
HALVES: dict[str, Format] = {"f16": F16, "bf16": BF16}


def source_place(wave: Wave, row: int, k: int, depth: int) -> tuple[int, int]:
    """(lane, element) of A[row][k] or B[k][row]: gfx11 gives a lane the whole row, gfx12 half of it."""
    if generation(wave.target) == 11:
        return row, k
    half = depth // 2
    return row + 16 * (k // half), k % half


def result_place(wave: Wave, i: int, j: int) -> tuple[int, int]:
    """(lane, register or element) of D[i][j]."""
    if generation(wave.target) == 11:
        return j + 16 * (i % 2), i // 2
    return j + 16 * (i // 8), i % 8


def decoder(wave: Wave, name: str, is_signed: bool) -> Callable[[int], int]:
    if name in HALVES:
        return lambda x: sf.convert(HALVES[name], F32, x)
    if name in ("iu8", "iu4"):
        return lambda x: signed(x, BITS[name]) if is_signed else x
    return lambda x: to_wide(small_format(wave.target, name), F32, x)


def source_value(wave: Wave, instruction: Instruction, position: int, name: str, lane: int, e: int) -> int:
    operand = instruction.operands[1 + position]
    bits = element_bits(wave, operand, lane, e, BITS[name])
    if name in HALVES and instruction.bits("neg_hi" if e % 2 else "neg_lo", 3)[position]:
        bits ^= 0x8000
    return decoder(wave, name, bool(instruction.bits("neg_lo", 3)[position]))(bits)


def read_c(wave: Wave, instruction: Instruction, operand: Operand, result: str, lane: int, at: int) -> int:
    """C as f32 bits or an integer."""
    if operand.kind == "constant":
        whole = read_raw(wave, operand, result if result in HALVES else "f32", lane)
        bits = whole
    elif result in HALVES:
        if generation(wave.target) == 11:
            high = instruction.bits("op_sel", 3)[2]
            bits = wave.read_lane(operand.kind, operand.register + at, lane) >> (16 * high) & 0xFFFF
        else:
            bits = element_bits(wave, operand, lane, at, 16)
    else:
        bits = wave.read_lane(operand.kind, operand.register + at, lane)
    if result == "i32":
        return signed(bits, 32)
    top = 0x8000 if result in HALVES else 0x80000000
    if "swmmac" not in instruction.mnemonic:
        bits = bits & ~top if instruction.bits("neg_hi", 3)[2] else bits
        bits = bits ^ top if instruction.bits("neg_lo", 3)[2] else bits
    return bits


def write_d(wave: Wave, instruction: Instruction, result: str, lane: int, at: int, total: int) -> None:
    operand = instruction.operands[0]
    if result == "i32":
        if "clamp" in instruction.modifiers:
            total = min(max(total, -(1 << 31)), (1 << 31) - 1)
        wave.write_lane("v", operand.register + at, lane, total)
    elif result == "f32":
        wave.write_lane("v", operand.register + at, lane, total)
    else:
        gfx11 = generation(wave.target) == 11
        register = operand.register + (at if gfx11 else at // 2)
        high = instruction.bits("op_sel", 3)[2] if gfx11 else at % 2
        old = wave.read_lane("v", register, lane)
        wave.write_lane("v", register, lane, old & 0xFFFF | total << 16 if high else old & 0xFFFF0000 | total)


def multiply_add(result: str, a: int, b: int, total: int) -> int:
    if result == "i32":
        return a * b + total
    if result == "f32":
        return sf.fused(F32, a, b, total)
    f = HALVES[result]
    # The accumulator of the half results is a half: every step rounds to it.
    wide = sf.fused(sf.F64, *(sf.convert(F32, sf.F64, x) for x in (a, b)), sf.convert(f, sf.F64, total))
    return sf.convert(sf.F64, f, wide)


def wmma(wave: Wave, instruction: Instruction) -> None:
    m = NAME.fullmatch(instruction.mnemonic)
    assert m
    result, depth = m[2], int(m[3])
    left, _, right = m[4].partition("_")
    right = right or left
    results = []
    for i in range(16):
        for j in range(16):
            lane, at = result_place(wave, i, j)
            total = read_c(wave, instruction, instruction.operands[3], result, lane, at)
            for k in range(depth):
                a = source_value(wave, instruction, 0, left, *source_place(wave, i, k, depth))
                b = source_value(wave, instruction, 1, right, *source_place(wave, j, k, depth))
                total = multiply_add(result, a, b, total)
            results.append((lane, at, total))
    for lane, at, total in results:
        write_d(wave, instruction, result, lane, at, total)


def swmmac(wave: Wave, instruction: Instruction) -> None:
    m = NAME.fullmatch(instruction.mnemonic)
    assert m
    result, depth = m[2], int(m[3])
    left, _, right = m[4].partition("_")
    right = right or left
    stored = depth // 4  # elements of A a lane holds
    width = 2 * stored
    key = instruction.number("index_key")
    indices = instruction.operands[3]
    results = []
    for i in range(16):
        terms = []
        for half in range(2):
            lane = i + 16 * half
            index = wave.read_lane("v", indices.register, lane) >> (width * key) & ((1 << width) - 1)
            for e, column in enumerate(sparse_columns(index, stored)):
                terms.append((half, column, source_value(wave, instruction, 0, left, lane, e)))
        for j in range(16):
            lane, at = result_place(wave, i, j)
            total = read_c(wave, instruction, instruction.operands[0], result, lane, at)
            for half, column, a in terms:
                b = source_value(wave, instruction, 1, right, j + 16 * half, column)
                total = multiply_add(result, a, b, total)
            results.append((lane, at, total))
    for lane, at, total in results:
        write_d(wave, instruction, result, lane, at, total)


SMALL_PAIRS = [f"{x}_{y}" for x in ("fp8", "bf8") for y in ("fp8", "bf8")]
model(
    "v_wmma_f32_16x16x16_f16",
    "v_wmma_f32_16x16x16_bf16",
    "v_wmma_f16_16x16x16_f16",
    "v_wmma_bf16_16x16x16_bf16",
    "v_wmma_i32_16x16x16_iu8",
    "v_wmma_i32_16x16x16_iu4",
    "v_wmma_i32_16x16x32_iu4",
    *(f"v_wmma_f32_16x16x16_{p}" for p in SMALL_PAIRS),
)(wmma)
model(
    "v_swmmac_f32_16x16x32_f16",
    "v_swmmac_f32_16x16x32_bf16",
    "v_swmmac_f16_16x16x32_f16",
    "v_swmmac_bf16_16x16x32_bf16",
    "v_swmmac_i32_16x16x32_iu8",
    "v_swmmac_i32_16x16x32_iu4",
    "v_swmmac_i32_16x16x64_iu4",
    *(f"v_swmmac_f32_16x16x32_{p}" for p in SMALL_PAIRS),
)(swmmac)
