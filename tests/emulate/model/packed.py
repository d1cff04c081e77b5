"""VOP3P: packed 16-bit and 32-bit arithmetic, mixed-precision multiply-add, dot products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from . import softfloat as sf
from .registry import clamp_float, constant_bits, format_of, lanewise, model, read_raw, signed
from .small_floats import small_format, to_wide
from .softfloat import BF16, F16, F32, Format
from .state import MASK32, Environment, Wave, generation
from .text import Instruction, Operand
from .vector_float import maximum, maximum_ieee2019, minimum, minimum_ieee2019
from .vector_integer import sat_i16, sat_i32, sat_u16, sat_u32


def packed_sources(wave: Wave, instruction: Instruction, kind: str, count: int, lane: int) -> list[list[int]]:
    """For the low and the high result, the chosen and negated elements of each source."""
    low, high = instruction.bits("op_sel", count), instruction.bits("op_sel_hi", count, 1)
    negate = instruction.bits("neg_lo", count), instruction.bits("neg_hi", count)
    width = 32 if kind.endswith("32") else 16
    f = format_of(kind)
    chosen: list[list[int]] = []
    for result, select in enumerate((low, high)):
        row = []
        for i in range(count):
            row.append(packed_element(wave, instruction.operands[1 + i], kind, width, select[i], lane))
            if negate[result][i]:
                row[-1] = sf.negate(f, row[-1]) if f is not None else row[-1]
            if kind.startswith("i"):
                row[-1] = signed(row[-1], width)
        chosen.append(row)
    return chosen


def packed_element(wave: Wave, operand: Operand, kind: str, width: int, high: int, lane: int) -> int:
    if operand.kind == "constant":
        whole = constant_bits(operand, kind)
        if width == 32:
            return whole  # both elements see the constant
        if operand.number is None:
            whole = operand.value & MASK32
        return whole >> (16 * high) & 0xFFFF
    if width == 32 and operand.kind == "s" and wave.target == "gfx1250":
        return read_raw(wave, operand, "u32", lane)  # one register for both elements
    whole = read_raw(wave, operand, "u64" if width == 32 else "u32", lane)
    return whole >> (width * high) & ((1 << width) - 1)


def packed(names: str, kind: str, count: int, function: Callable[..., int]) -> None:
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        width = 32 if kind.endswith("32") else 16
        f = format_of(kind)
        destination = instruction.operands[0]
        results = {}
        for lane in wave.active_lanes():
            env = Environment(wave, lane, "clamp" in instruction.modifiers)
            whole = 0
            for i, sources in enumerate(packed_sources(wave, instruction, kind, count, lane)):
                if f is not None:
                    sources = [env.flush_input(f, x) for x in sources]
                bits = function(env, *sources)
                if f is not None:
                    bits = env.flush_output(f, bits)
                    bits = clamp_float(f, bits, env) if env.clamp else bits
                whole |= (bits & ((1 << width) - 1)) << (width * i)
            results[lane] = whole
        for lane, whole in results.items():
            wave.write_lane("v", destination.register, lane, whole)
            if width == 32:
                wave.write_lane("v", destination.register + 1, lane, whole >> 32)

    for name in names.split():
        model(name)(on_wave)


packed("v_pk_add_f16", "f16", 2, lambda e, a, b: sf.add(F16, a, b, e.rounding(F16)))
packed("v_pk_mul_f16", "f16", 2, lambda e, a, b: sf.multiply(F16, a, b, e.rounding(F16)))
packed("v_pk_fma_f16", "f16", 3, lambda e, a, b, c: sf.fused(F16, a, b, c, e.rounding(F16)))
packed("v_pk_min_f16 v_pk_min_num_f16", "f16", 2, lambda e, a, b: minimum(e, F16, a, b))
packed("v_pk_max_f16 v_pk_max_num_f16", "f16", 2, lambda e, a, b: maximum(e, F16, a, b))
packed("v_pk_minimum_f16", "f16", 2, lambda e, a, b: minimum_ieee2019(F16, a, b))
packed("v_pk_maximum_f16", "f16", 2, lambda e, a, b: maximum_ieee2019(F16, a, b))
packed("v_pk_minimum3_f16", "f16", 3, lambda e, a, b, c: minimum_ieee2019(F16, minimum_ieee2019(F16, a, b), c))
packed("v_pk_maximum3_f16", "f16", 3, lambda e, a, b, c: maximum_ieee2019(F16, maximum_ieee2019(F16, a, b), c))
packed("v_pk_add_u16", "u16", 2, lambda e, a, b: sat_u16(e, a + b))
packed("v_pk_sub_u16", "u16", 2, lambda e, a, b: sat_u16(e, a - b))
packed("v_pk_add_i16", "i16", 2, lambda e, a, b: sat_i16(e, a + b))
packed("v_pk_sub_i16", "i16", 2, lambda e, a, b: sat_i16(e, a - b))
packed("v_pk_mul_lo_u16", "u16", 2, lambda e, a, b: a * b)
packed("v_pk_mad_u16", "u16", 3, lambda e, a, b, c: sat_u16(e, a * b + c))
packed("v_pk_mad_i16", "i16", 3, lambda e, a, b, c: sat_i16(e, a * b + c))
packed("v_pk_min_u16", "u16", 2, lambda e, a, b: min(a, b))
packed("v_pk_max_u16", "u16", 2, lambda e, a, b: max(a, b))
packed("v_pk_min_i16", "i16", 2, lambda e, a, b: min(a, b))
packed("v_pk_max_i16", "i16", 2, lambda e, a, b: max(a, b))
packed("v_pk_lshlrev_b16", "u16", 2, lambda e, a, b: b << (a & 15))
packed("v_pk_lshrrev_b16", "u16", 2, lambda e, a, b: b >> (a & 15))
packed("v_pk_ashrrev_i16", "i16", 2, lambda e, a, b: b >> (a & 15))
packed("v_pk_add_f32", "f32", 2, lambda e, a, b: sf.add(F32, a, b, e.rounding(F32)))
packed("v_pk_mul_f32", "f32", 2, lambda e, a, b: sf.multiply(F32, a, b, e.rounding(F32)))
packed("v_pk_fma_f32", "f32", 3, lambda e, a, b, c: sf.fused(F32, a, b, c, e.rounding(F32)))


@model("v_pk_mov_b32")
def move_pair(wave: Wave, instruction: Instruction) -> None:
    select = instruction.bits("op_sel", 2)
    results = {}
    for lane in wave.active_lanes():
        results[lane] = [
            packed_element(wave, instruction.operands[1 + i], "u32", 32, select[i], lane) for i in range(2)
        ]
    for lane, (low, high) in results.items():
        wave.write_lane("v", instruction.operands[0].register, lane, low)
        wave.write_lane("v", instruction.operands[0].register + 1, lane, high)


def packed_accumulate(e: Environment, a: int, b: int, old: int) -> int:
    halves = [
        e.flush_output(F16, sf.fused(F16, *(e.flush_input(F16, x >> s & 0xFFFF) for x in (a, b, old)), e.rounding(F16)))
        for s in (0, 16)
    ]
    return halves[0] | halves[1] << 16


lanewise("v_pk_fmac_f16", "u32", "u32 u32 old:u32", packed_accumulate)


def mixed_source(wave: Wave, instruction: Instruction, position: int, lane: int) -> int:
    """A source of v_fma_mix as f32: op_sel_hi says it is a half, op_sel which."""
    operand = instruction.operands[1 + position]
    env = Environment(wave, lane)
    if instruction.bits("op_sel_hi", 3)[position]:
        half = packed_element(wave, operand, "f16", 16, instruction.bits("op_sel", 3)[position], lane)
        bits = sf.convert(F16, F32, env.flush_input(F16, half))
    else:
        bits = env.flush_input(F32, read_raw(wave, operand, "f32", lane))
    bits = bits & 0x7FFFFFFF if operand.absolute else bits
    return bits ^ 0x80000000 if operand.negative else bits


@model("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
def mixed_multiply_add(wave: Wave, instruction: Instruction) -> None:
    destination = instruction.operands[0].register
    fused = "fma" in instruction.mnemonic
    results = {}
    for lane in wave.active_lanes():
        env = Environment(wave, lane)
        a, b, c = (mixed_source(wave, instruction, i, lane) for i in range(3))
        mode = env.rounding(F32)
        bits = sf.fused(F32, a, b, c, mode) if fused else sf.add(F32, sf.multiply(F32, a, b, mode), c, mode)
        bits = env.flush_output(F32, bits)
        if "clamp" in instruction.modifiers:
            bits = clamp_float(F32, bits, env)
        old = wave.read_lane("v", destination, lane)
        if "mixlo" in instruction.mnemonic:
            bits = old & 0xFFFF0000 | env.flush_output(F16, sf.convert(F32, F16, bits, env.rounding(F16)))
        elif "mixhi" in instruction.mnemonic:
            bits = old & 0xFFFF | env.flush_output(F16, sf.convert(F32, F16, bits, env.rounding(F16))) << 16
        results[lane] = bits
    for lane, bits in results.items():
        wave.write_lane("v", destination, lane, bits)


def elements(x: int, width: int, count: int, is_signed: bool) -> list[int]:
    parts = [x >> (width * i) & ((1 << width) - 1) for i in range(count)]
    return [signed(p, width) for p in parts] if is_signed else parts


def integer_dot(e: Environment, a: Sequence[int], b: Sequence[int], c: int, is_signed: bool) -> int:
    total = c + sum(x * y for x, y in zip(a, b, strict=True))
    return sat_i32(e, total) if is_signed else sat_u32(e, total)


for width, count, stem in ((16, 2, "dot2"), (8, 4, "dot4"), (4, 8, "dot8")):
    lanewise(
        f"v_{stem}_i32_i{width}",
        "u32",
        "u32 u32 i32",
        lambda e, a, b, c, w=width, n=count: integer_dot(e, elements(a, w, n, True), elements(b, w, n, True), c, True),
    )
    lanewise(
        f"v_{stem}_u32_u{width}",
        "u32",
        "u32 u32 u32",
        lambda e, a, b, c, w=width, n=count: integer_dot(
            e, elements(a, w, n, False), elements(b, w, n, False), c, False
        ),
    )
    lanewise(
        f"v_{stem}c_i32_i{width}",
        "u32",
        "u32 u32 old:i32",
        lambda e, a, b, c, w=width, n=count: integer_dot(e, elements(a, w, n, True), elements(b, w, n, True), c, True),
    )


@model("v_dot4_i32_iu8", "v_dot8_i32_iu4")
def mixed_sign_dot(wave: Wave, instruction: Instruction) -> None:
    """neg_lo says which of the sources is signed."""
    width, count = (8, 4) if "iu8" in instruction.mnemonic else (4, 8)
    is_signed = instruction.bits("neg_lo", 3)
    for lane in wave.active_lanes():
        env = Environment(wave, lane, "clamp" in instruction.modifiers)
        a, b, c = (read_raw(wave, o, "u32", lane) for o in instruction.operands[1:4])
        total = integer_dot(
            env,
            elements(a, width, count, bool(is_signed[0])),
            elements(b, width, count, bool(is_signed[1])),
            signed(c, 32),
            True,
        )
        wave.write_lane("v", instruction.operands[0].register, lane, total)


def flushes(e: Environment) -> bool:
    """gfx90a's half and bfloat16 dot and matrix instructions lose denormals going in and coming out."""
    return e.target == "gfx90a"


def wide_elements(e: Environment, f: Format, x: int) -> list[int]:
    halves = [x & 0xFFFF, x >> 16]
    return [sf.convert(f, F32, sf.flush(f, h) if flushes(e) else h) for h in halves]


def float_dot2(e: Environment, f: Format, a: int, b: int, c: int, addend_first: bool) -> int:
    """Products are exact in f32; each addition rounds."""
    x, y = wide_elements(e, f, a), wide_elements(e, f, b)
    c = sf.flush(F32, c) if flushes(e) else c
    if addend_first:
        total = sf.fused(F32, x[1], y[1], sf.fused(F32, x[0], y[0], c))
    else:
        total = sf.add(F32, sf.fused(F32, x[1], y[1], sf.multiply(F32, x[0], y[0])), c)
    return sf.flush(F32, total) if flushes(e) else total


lanewise(
    "v_dot2c_f32_f16 v_dot2acc_f32_f16", "f32", "u32 u32 old:u32", lambda e, a, b, c: float_dot2(e, F16, a, b, c, True)
)
lanewise(
    "v_dot2c_f32_bf16 v_dot2acc_f32_bf16",
    "f32",
    "u32 u32 old:u32",
    lambda e, a, b, c: float_dot2(e, BF16, a, b, c, True),
)


def dot_sources(wave: Wave, instruction: Instruction, lane: int) -> tuple[int, int]:
    low, high = packed_sources(wave, instruction, "f16", 2, lane)
    return low[0] | high[0] << 16, low[1] | high[1] << 16


@model("v_dot2_f32_f16", "v_dot2_f32_bf16")
def dot2(wave: Wave, instruction: Instruction) -> None:
    f = F16 if instruction.mnemonic.endswith("_f16") else BF16
    for lane in wave.active_lanes():
        env = Environment(wave, lane)
        a, b = dot_sources(wave, instruction, lane)
        operand = instruction.operands[3]
        c = read_raw(wave, operand, "f32", lane)
        for key, change in (("neg_hi", lambda x: x & 0x7FFFFFFF), ("neg_lo", lambda x: x ^ 0x80000000)):
            c = change(c) if instruction.bits(key, 3)[2] else c
        first = f is F16 or generation(wave.target) >= 11
        bits = float_dot2(env, f, a, b, c, first)
        bits = clamp_float(F32, bits, env) if "clamp" in instruction.modifiers else bits
        wave.write_lane("v", instruction.operands[0].register, lane, bits)


@model("v_dot2_f16_f16", "v_dot2_bf16_bf16")
def dot2_half(wave: Wave, instruction: Instruction) -> None:
    f = F16 if instruction.mnemonic.endswith("_f16") else BF16
    select = instruction.bits("op_sel", 4)
    destination, third = instruction.operands[0], instruction.operands[3]
    for lane in wave.active_lanes():
        a, b = (read_raw(wave, o, "u32", lane) for o in instruction.operands[1:3])
        c = packed_element(wave, replace(third, half=""), "f16", 16, int(select[2] or third.half == "h"), lane)
        total = sf.fused(f, a >> 16, b >> 16, sf.fused(f, a & 0xFFFF, b & 0xFFFF, c))
        if "clamp" in instruction.modifiers:
            total = clamp_float(f, total, Environment(wave, lane))
        old = wave.read_lane("v", destination.register, lane)
        high = select[3] or destination.half == "h"
        wave.write_lane(
            "v", destination.register, lane, old & 0xFFFF | total << 16 if high else old & 0xFFFF0000 | total
        )


def small_dot4(e: Environment, left: str, right: str, a: int, b: int, c: int) -> int:
    x, y = (
        [to_wide(small_format(e.target, name), F32, word >> (8 * i) & 0xFF) for i in range(4)]
        for name, word in ((left, a), (right, b))
    )
    for p, q in zip(x, y, strict=True):
        c = sf.fused(F32, p, q, c)
    return c


for left in ("fp8", "bf8"):
    for right in ("fp8", "bf8"):
        lanewise(
            f"v_dot4_f32_{left}_{right}",
            "f32",
            "u32 u32 f32",
            lambda e, a, b, c, m=left, n=right: small_dot4(e, m, n, a, b, c),
        )
