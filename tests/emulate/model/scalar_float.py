"""Scalar floating-point instructions (gfx12), and the transcendental ones that write a scalar."""

from __future__ import annotations

from . import softfloat as sf
from .registry import constant_bits, format_of, model
from .scalar import read_scalar, write_scalar
from .softfloat import F16, F32, Format
from .state import Environment, Wave
from .text import Instruction, Operand
from .vector_compare import FLOAT_COMPARISONS
from .vector_float import maximum, maximum_ieee2019, maximum_number, minimum, minimum_ieee2019, minimum_number


def read_float(wave: Wave, operand: Operand, f: Format) -> int:
    bits = constant_bits(operand, f.name) if operand.kind == "constant" else read_scalar(wave, operand, "u32")
    return Environment(wave).flush_input(f, bits & ((1 << f.bits) - 1))


BINARY = {
    "s_add": lambda f, e, a, b: sf.add(f, a, b, e.rounding(f)),
    "s_sub": lambda f, e, a, b: sf.add(f, a, sf.negate(f, b), e.rounding(f)),
    "s_mul": lambda f, e, a, b: sf.multiply(f, a, b, e.rounding(f)),
    "s_min_num": lambda f, e, a, b: minimum_number(f, a, b),
    "s_max_num": lambda f, e, a, b: maximum_number(f, a, b),
    "s_min": lambda f, e, a, b: minimum(e, f, a, b),
    "s_max": lambda f, e, a, b: maximum(e, f, a, b),
    "s_minimum": lambda f, e, a, b: minimum_ieee2019(f, a, b),
    "s_maximum": lambda f, e, a, b: maximum_ieee2019(f, a, b),
}
UNARY = {
    "s_ceil": lambda f, a: sf.to_integral(f, a, sf.UP),
    "s_floor": lambda f, a: sf.to_integral(f, a, sf.DOWN),
    "s_trunc": lambda f, a: sf.to_integral(f, a, sf.ZERO),
    "s_rndne": lambda f, a: sf.to_integral(f, a, sf.NEAREST),
}


def finish(wave: Wave, operand: Operand, f: Format, bits: int) -> None:
    write_scalar(wave, operand, 32, Environment(wave).flush_output(f, bits))


def format_in(name: str) -> Format:
    f = format_of(name.rsplit("_", 1)[1])
    assert f is not None
    return f


@model(*(f"{stem}_{kind}" for stem in BINARY for kind in ("f16", "f32")))
def binary(wave: Wave, instruction: Instruction) -> None:
    f = format_in(instruction.mnemonic)
    a, b = (read_float(wave, o, f) for o in instruction.operands[1:3])
    finish(wave, instruction.operands[0], f, BINARY[instruction.mnemonic[:-4]](f, Environment(wave), a, b))


@model(*(f"{stem}_{kind}" for stem in UNARY for kind in ("f16", "f32")))
def unary(wave: Wave, instruction: Instruction) -> None:
    f = format_in(instruction.mnemonic)
    finish(
        wave,
        instruction.operands[0],
        f,
        UNARY[instruction.mnemonic[:-4]](f, read_float(wave, instruction.operands[1], f)),
    )


@model(
    *(f"s_cmp_{stem}_{kind}" for stem in FLOAT_COMPARISONS if stem not in ("f", "t", "tru") for kind in ("f16", "f32"))
)
def compare(wave: Wave, instruction: Instruction) -> None:
    f = format_in(instruction.mnemonic)
    a, b = (read_float(wave, o, f) for o in instruction.operands)
    wave.scc = int(FLOAT_COMPARISONS[instruction.mnemonic.split("_")[2]](f, a, b))


@model("s_fmac_f32", "s_fmac_f16", "s_fmamk_f32", "s_fmaak_f32")
def multiply_add(wave: Wave, instruction: Instruction) -> None:
    f = format_in(instruction.mnemonic)
    operands = [*instruction.operands[1:], instruction.operands[0]][:3]
    a, b, c = (read_float(wave, o, f) for o in operands)
    finish(wave, instruction.operands[0], f, sf.fused(f, a, b, c, Environment(wave).rounding(f)))


@model("s_cvt_f32_i32", "s_cvt_f32_u32")
def from_integer(wave: Wave, instruction: Instruction) -> None:
    value = read_scalar(wave, instruction.operands[1], instruction.mnemonic[-3:])
    write_scalar(wave, instruction.operands[0], 32, sf.from_integer(F32, value, Environment(wave).rounding(F32)))


@model("s_cvt_i32_f32", "s_cvt_u32_f32")
def to_integer(wave: Wave, instruction: Instruction) -> None:
    signed = "i32" in instruction.mnemonic
    low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    bits = read_float(wave, instruction.operands[1], F32)
    write_scalar(wave, instruction.operands[0], 32, sf.integer_of(F32, bits, sf.ZERO, low, high))


@model("s_cvt_f16_f32")
def narrow(wave: Wave, instruction: Instruction) -> None:
    bits = read_float(wave, instruction.operands[1], F32)
    finish(wave, instruction.operands[0], F16, sf.convert(F32, F16, bits, Environment(wave).rounding(F16)))


@model("s_cvt_f32_f16", "s_cvt_hi_f32_f16")
def widen(wave: Wave, instruction: Instruction) -> None:
    operand = instruction.operands[1]
    bits = read_scalar(wave, operand, "u32") if operand.kind != "constant" else constant_bits(operand, "f16")
    bits = bits >> 16 if "_hi_" in instruction.mnemonic else bits & 0xFFFF
    finish(wave, instruction.operands[0], F32, sf.convert(F16, F32, Environment(wave).flush_input(F16, bits)))


@model("s_cvt_pk_rtz_f16_f32")
def pack_toward_zero(wave: Wave, instruction: Instruction) -> None:
    a, b = (sf.convert(F32, F16, read_float(wave, o, F32), sf.ZERO) for o in instruction.operands[1:3])
    write_scalar(wave, instruction.operands[0], 32, a | b << 16)
