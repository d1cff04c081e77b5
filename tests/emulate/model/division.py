"""v_div_scale, v_div_fmas, v_div_fixup and v_trig_preop."""

from __future__ import annotations

from . import softfloat as sf
from .registry import lanewise, model, modified, read_mask, read_raw
from .softfloat import F16, F32, F64, Format
from .state import VCC, Environment, Wave
from .text import Instruction, Operand
from .two_over_pi import TWO_OVER_PI_1201


def scale_steps(f: Format) -> int:
    """How far operands are moved out of danger: 2**64, or 2**128 for doubles."""
    return 64 if f is F32 else 128


def quotient_is_denormal(f: Format, numerator: int, denominator: int) -> bool:
    return sf.is_denormal(f, sf.divide(f, numerator, denominator))


def scaled_operand(f: Format, a: int, denominator: int, numerator: int) -> tuple[int, int]:
    """(the first operand, scaled if need be; whether v_div_fmas has to undo a scaling).

    Two branches of the document's text cannot be meant literally: with 1/denominator and the quotient both denormal it
    multiplies a denominator near the largest number by 2**64, which is infinite, where only dividing it gives the
    quotient; and "1 / denominator is denormal" names the double format in the single-precision instruction.
    """
    step = scale_steps(f)
    if sf.is_zero(f, numerator) or sf.is_zero(f, denominator):
        return f.nan, 0
    distance = sf.exponent_field(f, numerator) - sf.exponent_field(f, denominator)
    if distance >= (96 if f is F32 else 768):
        return (sf.scale(f, a, step) if a == denominator else a), 1
    if sf.is_denormal(f, denominator):
        return sf.scale(f, a, step), 0
    reciprocal_is_denormal = quotient_is_denormal(f, f.one, denominator)
    quotient = quotient_is_denormal(f, numerator, denominator)
    if reciprocal_is_denormal and quotient:
        return (sf.scale(f, a, -step) if a == denominator else a), 1
    if reciprocal_is_denormal:
        return sf.scale(f, a, -step), 0
    if quotient:
        return (sf.scale(f, a, step) if a == numerator else a), 1
    if sf.exponent_field(f, numerator) <= (23 if f is F32 else 53):
        return sf.scale(f, a, step), 0
    return a, 0


lanewise("v_div_scale_f32", "f32+mask", "f32 f32 f32", lambda e, a, b, c: scaled_operand(F32, a, b, c), raw=True)
lanewise("v_div_scale_f64", "f64+mask", "f64 f64 f64", lambda e, a, b, c: scaled_operand(F64, a, b, c), raw=True)


def fused_unscaled(f: Format, a: int, b: int, c: int, scaled: int, mode: int) -> int:
    """a * b + c, and where VCC says so times 2**±step, rounded once; the sign of the power brings c back to normal.

    The document says 2**32 (2**64) whatever the operands, which undoes neither of the two scalings v_div_scale makes.
    """
    if not scaled:
        return sf.fused(f, a, b, c, mode)
    if any(not sf.is_finite(f, x) for x in (a, b, c)):
        return sf.fused(f, a, b, c, mode)
    step = scale_steps(f)
    power = step if sf.exponent_field(f, c) > f.bias else -step
    total = sf.sum_of([sf.product(sf.unpack(f, a), sf.unpack(f, b)), sf.unpack(f, c)], mode)
    return sf.pack(f, sf.Finite(total.sign, total.magnitude, total.exponent + power), mode)


@model("v_div_fmas_f32", "v_div_fmas_f64")
def divide_fused(wave: Wave, instruction: Instruction) -> None:
    f, kind = (F32, "f32") if instruction.mnemonic.endswith("f32") else (F64, "f64")
    mask = read_mask(wave, Operand("s", VCC, 2))
    for lane in wave.active_lanes():
        env = Environment(wave, lane)
        values = [modified(read_raw(wave, o, kind, lane), o, kind) for o in instruction.operands[1:4]]
        a, b, c = (env.flush_input(f, x) for x in values)
        result = env.flush_output(f, fused_unscaled(f, a, b, c, mask >> lane & 1, env.rounding(f)))
        for i in range(f.bits // 32):
            wave.write_lane("v", instruction.operands[0].register + i, lane, result >> (32 * i))


def fixed(f: Format, quotient: int, denominator: int, numerator: int) -> int:
    sign = (sf.sign_of(f, denominator) ^ sf.sign_of(f, numerator)) << (f.bits - 1)
    if sf.is_nan(f, numerator):
        return sf.quiet(f, numerator)
    if sf.is_nan(f, denominator):
        return sf.quiet(f, denominator)
    both_zero = sf.is_zero(f, denominator) and sf.is_zero(f, numerator)
    both_infinite = sf.is_infinite(f, denominator) and sf.is_infinite(f, numerator)
    if both_zero or both_infinite:
        return f.nan | f.sign_bit
    if sf.is_zero(f, denominator) or sf.is_infinite(f, numerator):
        return sign | f.infinity
    if sf.is_infinite(f, denominator) or sf.is_zero(f, numerator):
        return sign
    if f is not F16:
        distance = sf.exponent_field(f, numerator) - sf.exponent_field(f, denominator)
        if distance < (-150 if f is F32 else -1075):
            return sign  # underflow, to nearest
        if sf.is_nan(f, quotient):
            return sign | f.infinity  # the steps overflowed; the text has no branch for it
    return sign | (quotient & ~f.sign_bit)


for kind, f in (("f16", F16), ("f32", F32), ("f64", F64)):
    lanewise(
        f"v_div_fixup_{kind}", kind, f"{kind} {kind} {kind}", lambda e, a, b, c, f=f: fixed(f, a, b, c), keeps_high=True
    )
lanewise("v_div_fixup_legacy_f16", "f16", "f16 f16 f16", lambda e, a, b, c: fixed(F16, a, b, c))


def trig_segment(a: int, segment: int) -> int:
    """53 bits of 2/pi, chosen by the segment and the exponent, as a double to multiply the argument with."""
    shift = (segment & 31) * 53
    exponent = sf.exponent_field(F64, a)
    if exponent > 1077:
        shift += exponent - 1077
    # The text shifts left and keeps the whole part: bits 1200-shift down to 1148-shift of the fraction's 1201 bits.
    whole = (TWO_OVER_PI_1201 << shift >> 1148) & ((1 << 53) - 1)
    power = -53 - shift
    if exponent >= 1968:
        power += 128
    return sf.pack(F64, sf.Finite(0, whole, power))


lanewise("v_trig_preop_f64", "f64", "f64 u32", lambda e, a, b: trig_segment(a, b), raw=True)
