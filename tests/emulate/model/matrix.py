"""Matrix instructions: MFMA and SMFMAC (wave 64), WMMA and SWMMAC (wave 32).

D[i][j] = C[i][j] + sum over k of A[i][k] * B[k][j], one fused multiply-add after the other in the order of k. EXEC is
ignored. Where an element sits in the registers is what the ISA documents' tables say; see the `*_place` functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import softfloat as sf
from .registry import model, read_raw, signed
from .small_floats import BF6, FP4, FP6, Small, small_format, to_wide
from .softfloat import BF16, F16, F32, F64
from .state import Wave
from .text import Instruction, Operand

Multiply = Callable[[int, int, int], int]


@dataclass(frozen=True)
class Element:
    """How a source element is stored and what it is multiplied as."""

    bits: int
    value: Callable[[int], int]  # stored bits -> f32 or f64 bits, or a Python integer


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int
    blocks: int


def element_bits(wave: Wave, operand: Operand, lane: int, index: int, bits: int) -> int:
    at = index * bits
    if operand.kind == "constant":
        return read_raw(wave, operand, "u32", lane) & ((1 << bits) - 1)
    pair = sum(
        wave.read_lane(operand.kind, operand.register + at // 32 + i, lane) << (32 * i)
        for i in range(2 if bits == 64 or at % 32 + bits > 32 else 1)
    )
    return pair >> (at % 32) & ((1 << bits) - 1)


def truncated_xf32(x: int) -> int:
    return x & 0xFFFFE000


def without_denormals(x: int) -> int:
    return sf.flush(F32, x)


def source_element(wave: Wave, name: str) -> Element:
    """name: f16, bf16, f32, xf32, f64, i8, fp8, bf8, fp6, bf6, fp4"""
    loses_denormals = wave.target == "gfx90a" and name in ("f16", "bf16")
    if name in ("f16", "bf16"):
        f = F16 if name == "f16" else BF16
        return Element(16, lambda x: sf.convert(f, F32, sf.flush(f, x) if loses_denormals else x))
    if name == "f32":
        return Element(32, lambda x: x)
    if name == "xf32":
        return Element(32, truncated_xf32)
    if name == "f64":
        return Element(64, lambda x: x)
    if name == "i8":
        return Element(8, lambda x: signed(x, 8))
    small: Small = {"fp6": FP6, "bf6": BF6, "fp4": FP4}.get(name) or small_format(wave.target, name)
    return Element(small.bits, lambda x: to_wide(small, F32, x))


def mfma_source_place(shape: Shape, row: int, k: int, block: int, per_lane: int) -> tuple[int, int]:
    """(lane, element) of A[row][k], or of B[k][row]: rows run along lanes, then blocks, then groups of k."""
    return row + shape.m * (block + shape.blocks * (k // per_lane)), k % per_lane


def mfma_result_place(shape: Shape, i: int, j: int, block: int, double: bool) -> tuple[int, int]:
    """(lane, element) of D[i][j]."""
    if shape.m == 32:
        return j + 32 * (i // 4 % 2), 16 * block + 4 * (i // 8) + i % 4
    if shape.m == 16:
        return (j + 16 * (i % 4), i // 4) if double else (j + 16 * (i // 4), 4 * block + i % 4)
    return (j + 4 * block + 16 * i, 0) if double else (j + 4 * block, i)


def lane_of_pattern(pattern: int, lane: int) -> int:
    """blgp: which lane's B a lane uses."""
    if pattern == 1:
        return lane % 32
    if pattern == 2:
        return lane % 32 + 32
    if pattern == 3:
        return (lane + 16) % 64
    if pattern >= 4:
        return lane % 16 + 16 * (pattern - 4)
    return lane


def accumulate(name: str) -> Multiply:
    if name == "i32":
        return lambda a, b, c: a * b + c
    if name == "f64":
        return lambda a, b, c: sf.fused(F64, a, b, c)
    return lambda a, b, c: sf.fused(F32, a, b, c)


NAME = re.compile(r"v_(s?)mfmac?_(?:scale_)?(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?(\w+)")


def parse_mfma(mnemonic: str, target: str) -> tuple[bool, str, Shape, str, str]:
    m = NAME.fullmatch(mnemonic)
    assert m, mnemonic
    rows, columns, depth = int(m[3]), int(m[4]), int(m[5])
    kinds = m[7]
    if kinds == "bf16" and not mnemonic.endswith("_bf16") and target in ("gfx942", "gfx950"):
        kinds = "bf16_1k"  # what gfx90a calls so; gfx908's own, of half the depth, are gone
    per_lane_rows = 64 // rows
    if m[6]:
        blocks = int(m[6])
    else:
        # Old names do not say the number of blocks: the shapes that need several are the shallow ones.
        shallow = {"f32": 1, "f16": 4, "i8": 4, "bf16": 2, "bf16_1k": 4}.get(kinds, 0)
        several = rows == 4 or (depth == shallow and (rows, kinds) != (16, "f64"))
        blocks = (4 if kinds == "f64" else per_lane_rows) if several else 1
        if kinds == "bf16" and "_" in mnemonic.split("x")[-1]:
            blocks = 1
    kinds = kinds.removesuffix("_1k")
    left, _, right = kinds.partition("_")
    return bool(m[1]), m[2], Shape(rows, columns, depth, blocks), left, right or left


def read_c(wave: Wave, operand: Operand, lane: int, element: int, double: bool) -> int:
    if operand.kind == "constant":
        return read_raw(wave, operand, "f64" if double else "f32", lane)
    return element_bits(wave, operand, lane, element, 64 if double else 32)


def write_d(wave: Wave, operand: Operand, lane: int, element: int, value: int, double: bool) -> None:
    for i in range(2 if double else 1):
        register = operand.register + element * (2 if double else 1) + i
        wave.write_lane(operand.kind, register, lane, value >> (32 * i) & 0xFFFFFFFF)


F8F6F4 = ("fp8", "bf8", "fp6", "bf6", "fp4")


def scale_factor(wave: Wave, instruction: Instruction, position: int, lane: int) -> int:
    """The power of two of an E8M0 byte as a float; 255 is NaN."""
    operand = instruction.operands[4 + position]
    byte = instruction.bits("op_sel", 3)[position] + 2 * instruction.bits("op_sel_hi", 3, 1)[position]
    power = read_raw(wave, operand, "u32", lane) >> (8 * byte) & 255
    return F32.nan if power == 255 else sf.pack(F32, sf.Finite(0, 1, power - 127))


def mfma(wave: Wave, instruction: Instruction) -> None:
    _, result, shape, left, right = parse_mfma(instruction.mnemonic, wave.target)
    d, a, b, c = instruction.operands[:4]
    cbsz, abid, blgp = (instruction.number(x) for x in ("cbsz", "abid", "blgp"))
    if left == "f8f6f4":
        left, right = F8F6F4[cbsz], F8F6F4[blgp]
        cbsz = abid = blgp = 0
    scaled = "_scale_" in instruction.mnemonic
    double = result == "f64"
    negate = instruction.bits("neg", 3) if double else [0, 0, 0]
    first, second, multiply = source_element(wave, left), source_element(wave, right), accumulate(result)
    per_lane = shape.k * shape.m * shape.blocks // 64
    loses_denormals = wave.target == "gfx90a" and left in ("f16", "bf16")
    results = []
    for block in range(shape.blocks):
        from_block = (block >> cbsz << cbsz) + abid if cbsz else block
        left_values, right_values = {}, {}
        for row in range(shape.m):
            for k in range(shape.k):
                lane, at = mfma_source_place(shape, row, k, from_block, per_lane)
                value = first.value(element_bits(wave, a, lane, at, first.bits))
                if scaled:
                    value = sf.multiply(F32, value, scale_factor(wave, instruction, 0, lane))
                left_values[row, k] = sf.negate(F64, value) if negate[0] else value
                lane, at = mfma_source_place(shape, row, k, block, per_lane)
                value = second.value(element_bits(wave, b, lane_of_pattern(blgp, lane), at, second.bits))
                if scaled:
                    value = sf.multiply(F32, value, scale_factor(wave, instruction, 1, lane))
                right_values[k, row] = sf.negate(F64, value) if negate[1] else value
        for i in range(shape.m):
            for j in range(shape.n):
                lane, at = mfma_result_place(shape, i, j, block, double)
                total = read_c(wave, c, lane, at, double)
                total = sf.negate(F64, total) if negate[2] else total
                total = without_denormals(total) if loses_denormals else total
                for k in range(shape.k):
                    total = multiply(left_values[i, k], right_values[k, j], total)
                    total = without_denormals(total) if loses_denormals else total
                results.append((lane, at, total))
    for lane, at, total in results:
        write_d(wave, d, lane, at, total, double)


def sparse_columns(index: int, count: int) -> list[int]:
    """For each stored element, which column of its group of four it stands in."""
    return [4 * (e // 2) + (index >> (2 * e) & 3) for e in range(count)]


def smfmac(wave: Wave, instruction: Instruction) -> None:
    """A is stored at half size: of every four elements two, with their places in the index register."""
    _, result, shape, left, right = parse_mfma(instruction.mnemonic, wave.target)
    d, a, b, indices = instruction.operands[:4]
    first, second, multiply = source_element(wave, left), source_element(wave, right), accumulate(result)
    stored = shape.k * shape.m // 128  # elements of A per lane
    width = 2 * stored
    abid = 0 if instruction.number("cbsz") else instruction.number("abid")
    terms: dict[int, list[tuple[int, int]]] = {}
    for row in range(shape.m):
        terms[row] = []
        for group in range(64 // shape.m):
            lane = row + shape.m * group
            index = wave.read_lane(indices.kind, indices.register, lane) >> (width * abid) & ((1 << width) - 1)
            for e, column in enumerate(sparse_columns(index, stored)):
                value = first.value(element_bits(wave, a, lane, e, first.bits))
                terms[row].append((2 * stored * group + column, value))
    results = []
    for i in range(shape.m):
        for j in range(shape.n):
            lane, at = mfma_result_place(shape, i, j, 0, False)
            total = read_c(wave, d, lane, at, False)
            for k, value in terms[i]:
                source_lane, element = mfma_source_place(shape, j, k, 0, 2 * stored)
                total = multiply(value, second.value(element_bits(wave, b, source_lane, element, second.bits)), total)
            results.append((lane, at, total))
    for lane, at, total in results:
        write_d(wave, d, lane, at, total, False)


OLD_NAMES = [
    "v_mfma_f32_32x32x1f32",
    "v_mfma_f32_16x16x1f32",
    "v_mfma_f32_4x4x1f32",
    "v_mfma_f32_32x32x2f32",
    "v_mfma_f32_16x16x4f32",
    "v_mfma_f32_32x32x4f16",
    "v_mfma_f32_16x16x4f16",
    "v_mfma_f32_4x4x4f16",
    "v_mfma_f32_32x32x8f16",
    "v_mfma_f32_16x16x16f16",
    "v_mfma_i32_32x32x4i8",
    "v_mfma_i32_16x16x4i8",
    "v_mfma_i32_4x4x4i8",
    "v_mfma_i32_32x32x8i8",
    "v_mfma_i32_16x16x16i8",
    "v_mfma_f32_32x32x2bf16",
    "v_mfma_f32_16x16x2bf16",
    "v_mfma_f32_4x4x2bf16",
    "v_mfma_f32_32x32x4bf16",
    "v_mfma_f32_16x16x8bf16",
    "v_mfma_f32_32x32x4bf16_1k",
    "v_mfma_f32_16x16x4bf16_1k",
    "v_mfma_f32_4x4x4bf16_1k",
    "v_mfma_f32_32x32x8bf16_1k",
    "v_mfma_f32_16x16x16bf16_1k",
    "v_mfma_f64_16x16x4f64",
    "v_mfma_f64_4x4x4f64",
    "v_mfma_f32_16x16x4bf16",
    "v_mfma_f32_4x4x4bf16",
    "v_mfma_f32_32x32x8bf16",
    "v_mfma_f32_16x16x16bf16",
    "v_mfma_f32_16x16x8xf32",
    "v_mfma_f32_32x32x4xf32",
    "v_mfma_f32_16x16x32f16",
    "v_mfma_f32_16x16x32bf16",
    "v_mfma_f32_32x32x16f16",
    "v_mfma_f32_32x32x16bf16",
    "v_mfma_i32_16x16x64i8",
    "v_mfma_i32_32x32x32i8",
]
NEW_NAMES = [
    "v_mfma_f32_32x32x1_2b_f32",
    "v_mfma_f32_16x16x1_4b_f32",
    "v_mfma_f32_4x4x1_16b_f32",
    "v_mfma_f32_32x32x2_f32",
    "v_mfma_f32_16x16x4_f32",
    "v_mfma_f32_32x32x4_2b_f16",
    "v_mfma_f32_16x16x4_4b_f16",
    "v_mfma_f32_4x4x4_16b_f16",
    "v_mfma_f32_32x32x8_f16",
    "v_mfma_f32_16x16x16_f16",
    "v_mfma_i32_32x32x4_2b_i8",
    "v_mfma_i32_16x16x4_4b_i8",
    "v_mfma_i32_4x4x4_16b_i8",
    "v_mfma_i32_32x32x16_i8",
    "v_mfma_i32_16x16x32_i8",
    "v_mfma_f32_32x32x4_2b_bf16",
    "v_mfma_f32_16x16x4_4b_bf16",
    "v_mfma_f32_4x4x4_16b_bf16",
    "v_mfma_f32_32x32x8_bf16",
    "v_mfma_f32_16x16x16_bf16",
    "v_mfma_f64_16x16x4_f64",
    "v_mfma_f64_4x4x4_4b_f64",
    "v_mfma_f32_16x16x8_xf32",
    "v_mfma_f32_32x32x4_xf32",
    "v_mfma_f32_16x16x32_f16",
    "v_mfma_f32_16x16x32_bf16",
    "v_mfma_f32_32x32x16_f16",
    "v_mfma_f32_32x32x16_bf16",
    "v_mfma_i32_16x16x64_i8",
    "v_mfma_i32_32x32x32_i8",
    "v_mfma_i32_32x32x8_i8",
    "v_mfma_i32_16x16x16_i8",
    "v_mfma_i32_32x32x16i8",
    "v_mfma_i32_16x16x32i8",
    "v_mfma_f32_16x16x128_f8f6f4",
    "v_mfma_f32_32x32x64_f8f6f4",
    "v_mfma_scale_f32_16x16x128_f8f6f4",
    "v_mfma_scale_f32_32x32x64_f8f6f4",
]
SMALL_PAIRS = [f"{x}_{y}" for x in ("fp8", "bf8") for y in ("fp8", "bf8")]
model(*OLD_NAMES, *NEW_NAMES, *(f"v_mfma_f32_{s}_{p}" for s in ("16x16x32", "32x32x16") for p in SMALL_PAIRS))(mfma)
model(
    *(f"v_smfmac_f32_{s}_{t}" for t in ("f16", "bf16") for s in ("16x16x32", "32x32x16", "16x16x64", "32x32x32")),
    *(f"v_smfmac_i32_{s}_i8" for s in ("16x16x64", "32x32x32", "16x16x128", "32x32x64")),
    *(f"v_smfmac_f32_{s}_{p}" for s in ("16x16x64", "32x32x32", "16x16x128", "32x32x64") for p in SMALL_PAIRS),
)(smfmac)
