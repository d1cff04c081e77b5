"""WMMA of gfx1250. Which k an element of a lane is follows Triton's layouts: AMDWmmaEncodingAttr, version 3."""

from __future__ import annotations

import re

from . import softfloat as sf
from .matrix import element_bits
from .registry import model, read_raw, signed
from .small_floats import small_format, to_wide
from .softfloat import BF16, F16, F32
from .state import Wave
from .text import Instruction, Operand
from .wave_matrix import multiply_add

NAME = re.compile(r"v_wmma_(scale16_|scale_)?(f32|f16|bf16f32|bf16|i32)_(16|32)x16x(\d+)_(\w+)")
BITS = {"f32": 32, "f16": 16, "bf16": 16, "iu8": 8, "fp8": 8, "bf8": 8, "fp4": 4}
FORMATS = {"MATRIX_FMT_FP8": "fp8", "MATRIX_FMT_BF8": "bf8", "MATRIX_FMT_FP4": "fp4"}


def places(depth: int, run: int) -> dict[int, tuple[int, int]]:
    """k -> (upper lanes or not, element): a lane's elements come in runs, and the two halves of the wave take turns."""
    found = {}
    for half in range(2):
        for element in range(depth // 2):
            found[(2 * (element // run) + half) * run + element % run] = (half, element)
    return found


def value_of(wave: Wave, kind: str, bits: int, is_signed: bool) -> int:
    if kind == "f32":
        return bits
    if kind in ("f16", "bf16"):
        return sf.convert(F16 if kind == "f16" else BF16, F32, bits)
    if kind == "iu8":
        return signed(bits, 8) if is_signed else bits
    return to_wide(small_format(wave.target, kind), F32, bits)


def power_of(scales: int, byte: int) -> int:
    power = scales >> 8 * byte & 255
    return F32.nan if power == 255 else sf.pack(F32, sf.Finite(0, 1, power - 127))


def factor(
    wave: Wave, instruction: Instruction, position: int, kind: str, rows: int, depth: int, run: int, block: int
) -> list[list[int]]:
    """A, or B turned round: values by row and k."""
    operand = instruction.operands[1 + position]
    is_signed = bool(instruction.bits("neg_lo", 3)[position])
    where = places(depth, run)
    part = depth // 2 * BITS[kind] // 32  # registers of 16 rows
    found = []
    for row in range(rows):
        values = []
        for k in range(depth):
            half, element = where[k]
            lane = row % 16 + 16 * half
            shifted = Operand("v", operand.register + row // 16 * part)
            value = value_of(wave, kind, element_bits(wave, shifted, lane, element, BITS[kind]), is_signed)
            if block:
                side = "ab"[position]
                upper = instruction.modifiers.get(f"matrix_{side}_scale") == "MATRIX_SCALE_ROW1"
                scale = instruction.operands[4 + position]
                at = row if rows == 32 else row + 16 * upper
                word = read_raw(wave, scale, "u64" if block == 16 else "u32", at)
                value = sf.multiply(F32, value, power_of(word, k // block))
            values.append(value)
        found.append(values)
    return found


def read_c(wave: Wave, instruction: Instruction, result: str, lane: int, at: int) -> int:
    operand = instruction.operands[3]
    if result in ("f16", "bf16"):
        bits, top = element_bits(wave, operand, lane, at, 16), 0x8000
    else:
        bits, top = wave.read_lane("v", operand.register + at, lane), 0x80000000
    if result == "i32":
        return signed(bits, 32)
    bits = bits & ~top if instruction.bits("neg_hi", 3)[2] else bits
    return bits ^ top if instruction.bits("neg_lo", 3)[2] else bits


PAIRS = [f"{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")]


@model("v_wmma_f32_16x16x4_f32", "v_wmma_bf16f32_16x16x32_bf16", "v_wmma_i32_16x16x64_iu8")
@model(*(f"v_wmma_{r}_16x16x32_{k}" for k in ("f16", "bf16") for r in ("f32", k)))
@model(*(f"v_wmma_{r}_16x16x{d}_{p}" for r in ("f32", "f16") for d in (64, 128) for p in PAIRS))
@model(*(f"v_wmma_{s}f32_{n}" for s in ("", "scale_", "scale16_") for n in ("16x16x128_f8f6f4", "32x16x128_f4")))
def wmma(wave: Wave, instruction: Instruction) -> None:
    m = NAME.fullmatch(instruction.mnemonic)
    assert m
    result, rows, depth = m[2], int(m[3]), int(m[4])
    left, _, right = m[5].partition("_")
    right = right or left
    if left == "f8f6f4":
        left, right = (FORMATS[instruction.modifiers.get(f"matrix_{x}_fmt", "MATRIX_FMT_FP8")] for x in "ab")
    elif left == "f4":
        left = right = "fp4"
    block = {"scale16_": 16, "scale_": 32}.get(m[1] or "", 0)
    if m[5] in ("f8f6f4", "f4"):
        runs = [{8: 16, 4: 32}[BITS[kind]] for kind in (left, right)]
    else:
        runs = [2 if left == "f32" else 8] * 2
    a = factor(wave, instruction, 0, left, rows, depth, runs[0], block)
    b = factor(wave, instruction, 1, right, 16, depth, runs[1], block)
    sums = "f32" if result == "bf16f32" else result
    totals = {}
    for i in range(rows):
        for j in range(16):
            lane, at = j + 16 * (i % 16 // 8), i % 8 + 8 * (i // 16)
            total = read_c(wave, instruction, sums, lane, at)
            for x, y in zip(a[i], b[j], strict=True):
                total = multiply_add(sums, x, y, total)
            totals[lane, at] = total
    for (lane, at), total in totals.items():
        register = instruction.operands[0].register
        if result == "i32" and "clamp" in instruction.modifiers:
            total = min(max(total, -(1 << 31)), (1 << 31) - 1)
        if result in ("f32", "i32"):
            wave.write_lane("v", register + at, lane, total)
            continue
        half = sf.convert(F32, BF16, total) if result == "bf16f32" else total
        old = wave.read_lane("v", register + at // 2, lane)
        kept = old & 0xFFFF if at % 2 else old & 0xFFFF0000
        wave.write_lane("v", register + at // 2, lane, kept | half << 16 * (at % 2))
