"""Conversions between integers and the IEEE formats."""

from __future__ import annotations

from . import softfloat as sf
from .registry import lanewise, signed
from .softfloat import BF16, F16, F32, F64, Format
from .state import Environment

I32 = (-(1 << 31), (1 << 31) - 1)
U32 = (0, (1 << 32) - 1)
I16 = (-(1 << 15), (1 << 15) - 1)
U16 = (0, (1 << 16) - 1)

lanewise("v_cvt_f32_i32", "f32", "i32", lambda e, a: sf.from_integer(F32, a, e.rounding(F32)))
lanewise("v_cvt_f32_u32", "f32", "u32", lambda e, a: sf.from_integer(F32, a, e.rounding(F32)))
lanewise("v_cvt_f64_i32", "f64", "i32", lambda e, a: sf.from_integer(F64, a))
lanewise("v_cvt_f64_u32", "f64", "u32", lambda e, a: sf.from_integer(F64, a))
lanewise("v_cvt_f16_u16", "f16", "u16", lambda e, a: sf.from_integer(F16, a, e.rounding(F16)))
lanewise("v_cvt_f16_i16", "f16", "i16", lambda e, a: sf.from_integer(F16, a, e.rounding(F16)))
lanewise("v_cvt_i32_f32", "u32", "f32", lambda e, a: sf.integer_of(F32, a, sf.ZERO, *I32))
lanewise("v_cvt_u32_f32", "u32", "f32", lambda e, a: sf.integer_of(F32, a, sf.ZERO, *U32))
lanewise("v_cvt_i32_f64", "u32", "f64", lambda e, a: sf.integer_of(F64, a, sf.ZERO, *I32))
lanewise("v_cvt_u32_f64", "u32", "f64", lambda e, a: sf.integer_of(F64, a, sf.ZERO, *U32))
lanewise("v_cvt_i16_f16", "u16", "f16", lambda e, a: sf.integer_of(F16, a, sf.ZERO, *I16))
lanewise("v_cvt_u16_f16", "u16", "f16", lambda e, a: sf.integer_of(F16, a, sf.ZERO, *U16))
lanewise("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "u32", "f32", lambda e, a: sf.integer_of(F32, a, sf.DOWN, *I32))


def nearest_upward(a: int) -> int:
    """floor(a + 0.5), the sum exact."""
    if not sf.is_finite(F32, a):
        return sf.integer_of(F32, a, sf.DOWN, *I32)
    n = sf.unpack(F32, a)
    total = sf.sum_of([n, sf.Finite(0, 1, -1)], sf.NEAREST)
    value = sf.round_shift(total.magnitude, -total.exponent, sf.DOWN, total.sign) * (-1 if total.sign else 1)
    return min(max(value, I32[0]), I32[1])


lanewise("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", "u32", "f32", lambda e, a: nearest_upward(a))
lanewise("v_cvt_f16_f32", "f16", "f32", lambda e, a: sf.convert(F32, F16, a, e.rounding(F16)))
lanewise("v_cvt_f32_f16", "f32", "f16", lambda e, a: sf.convert(F16, F32, a))
lanewise("v_cvt_f32_f64", "f32", "f64", lambda e, a: sf.convert(F64, F32, a, e.rounding(F32)))
lanewise("v_cvt_f64_f32", "f64", "f32", lambda e, a: sf.convert(F32, F64, a))
lanewise("v_cvt_f32_bf16", "f32", "u16", lambda e, a: a << 16)
for byte in range(4):
    lanewise(f"v_cvt_f32_ubyte{byte}", "f32", "u32", lambda e, a, i=byte: sf.from_integer(F32, a >> (8 * i) & 0xFF))
lanewise("v_cvt_off_f32_i4", "f32", "u32", lambda e, a: sf.scale(F32, sf.from_integer(F32, signed(a, 4)), -4))


def normalised(f: Format, a: int, steps: int) -> int:
    """A float of [-1, 1] (or [0, 1]) as that many steps, to nearest even; outside it saturates and NaN is 0."""
    low = -steps if steps == 32767 else 0
    if sf.is_nan(f, a):
        return 0
    if sf.is_infinite(f, a):
        return low if sf.sign_of(f, a) else steps
    n = sf.unpack(f, a)
    value = sf.round_shift(n.magnitude * steps, -n.exponent, sf.NEAREST, n.sign)
    return min(max(-value if n.sign else value, low), steps)


def pair(low: int, high: int) -> int:
    return low & 0xFFFF | (high & 0xFFFF) << 16


lanewise("v_cvt_norm_i16_f16", "u16", "f16", lambda e, a: normalised(F16, a, 32767))
lanewise("v_cvt_norm_u16_f16", "u16", "f16", lambda e, a: normalised(F16, a, 65535))
lanewise(
    "v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32",
    "u32",
    "f32 f32",
    lambda e, a, b: pair(normalised(F32, a, 32767), normalised(F32, b, 32767)),
)
lanewise(
    "v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32",
    "u32",
    "f32 f32",
    lambda e, a, b: pair(normalised(F32, a, 65535), normalised(F32, b, 65535)),
)
lanewise(
    "v_cvt_pknorm_i16_f16 v_cvt_pk_norm_i16_f16",
    "u32",
    "f16 f16",
    lambda e, a, b: pair(normalised(F16, a, 32767), normalised(F16, b, 32767)),
)
lanewise(
    "v_cvt_pknorm_u16_f16 v_cvt_pk_norm_u16_f16",
    "u32",
    "f16 f16",
    lambda e, a, b: pair(normalised(F16, a, 65535), normalised(F16, b, 65535)),
)
lanewise(
    "v_cvt_pk_i16_f32",
    "u32",
    "f32 f32",
    lambda e, a, b: pair(sf.integer_of(F32, a, sf.ZERO, *I16), sf.integer_of(F32, b, sf.ZERO, *I16)),
)
lanewise(
    "v_cvt_pk_u16_f32",
    "u32",
    "f32 f32",
    lambda e, a, b: pair(sf.integer_of(F32, a, sf.ZERO, *U16), sf.integer_of(F32, b, sf.ZERO, *U16)),
)


def narrowed(e: Environment, f: Format, a: int, mode: int) -> int:
    return e.flush_output(f, sf.convert(F32, f, a, mode))


lanewise(
    "v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32",
    "u32",
    "f32 f32",
    lambda e, a, b: pair(narrowed(e, F16, a, sf.ZERO), narrowed(e, F16, b, sf.ZERO)),
)
lanewise(
    "v_cvt_pk_f16_f32",
    "u32",
    "f32 f32",
    lambda e, a, b: pair(narrowed(e, F16, a, sf.NEAREST), narrowed(e, F16, b, sf.NEAREST)),
)
lanewise(
    "v_cvt_pk_bf16_f32", "u32", "f32 f32", lambda e, a, b: pair(sf.convert(F32, BF16, a), sf.convert(F32, BF16, b))
)


def to_u8(a: int) -> int:
    return sf.integer_of(F32, a, sf.NEAREST, 0, 255)


def put_byte(value: int, position: int, word: int) -> int:
    shift = 8 * (position & 3)
    return word & ~(0xFF << shift) | value << shift


lanewise("v_cvt_pk_u8_f32", "u32", "f32 u32 u32", lambda e, a, b, c: put_byte(to_u8(a), b, c))
lanewise("v_cvt_pkaccum_u8_f32", "u32", "f32 u32 old:u32", lambda e, a, b, c: put_byte(to_u8(a), b, c))
