"""Vector floating-point arithmetic: f16, f32, f64."""

from __future__ import annotations

from collections.abc import Callable

from . import softfloat as sf
from .registry import lanewise, signed
from .softfloat import F16, F32, F64, FORMATS, Format
from .state import Environment


def minimum_number(f: Format, a: int, b: int) -> int:
    """IEEE 754-2019 minimumNumber, with -0 below +0."""
    if sf.is_nan(f, a) and sf.is_nan(f, b):
        return sf.quiet(f, a)
    if sf.is_nan(f, a):
        return b
    if sf.is_nan(f, b):
        return a
    if sf.is_zero(f, a) and sf.is_zero(f, b):
        return a if sf.sign_of(f, a) else b
    return a if sf.less(f, a, b) else b


def maximum_number(f: Format, a: int, b: int) -> int:
    if sf.is_nan(f, a) and sf.is_nan(f, b):
        return sf.quiet(f, a)
    if sf.is_nan(f, a):
        return b
    if sf.is_nan(f, b):
        return a
    if sf.is_zero(f, a) and sf.is_zero(f, b):
        return b if sf.sign_of(f, a) else a
    return a if sf.less(f, b, a) else b


def minimum_ieee2019(f: Format, a: int, b: int) -> int:
    """IEEE 754-2019 minimum: a NaN wins."""
    nan = sf.first_nan(f, a, b)
    return nan if nan is not None else minimum_number(f, a, b)


def maximum_ieee2019(f: Format, a: int, b: int) -> int:
    nan = sf.first_nan(f, a, b)
    return nan if nan is not None else maximum_number(f, a, b)


def with_signaling(env: Environment, f: Format, a: int, b: int, choose: Callable[[Format, int, int], int]) -> int:
    """Before gfx12 a signalling NaN wins in IEEE mode, and a quiet one never does."""
    if env.generation < 12 and env.ieee:
        for x in (a, b):
            if sf.is_signaling(f, x):
                return sf.quiet(f, x)
    return choose(f, a, b)


def minimum(env: Environment, f: Format, a: int, b: int) -> int:
    return with_signaling(env, f, a, b, minimum_number)


def maximum(env: Environment, f: Format, a: int, b: int) -> int:
    return with_signaling(env, f, a, b, maximum_number)


def minimum3(env: Environment, f: Format, a: int, b: int, c: int) -> int:
    return minimum(env, f, minimum(env, f, a, b), c)


def maximum3(env: Environment, f: Format, a: int, b: int, c: int) -> int:
    return maximum(env, f, maximum(env, f, a, b), c)


def median(env: Environment, f: Format, a: int, b: int, c: int) -> int:
    if any(sf.is_nan(f, x) for x in (a, b, c)):
        return minimum3(env, f, a, b, c)
    top = maximum3(env, f, a, b, c)
    if sf.order(f, top) == sf.order(f, a):
        return maximum(env, f, b, c)
    if sf.order(f, top) == sf.order(f, b):
        return maximum(env, f, a, c)
    return maximum(env, f, a, b)


def fraction(f: Format, a: int, mode: int) -> int:
    """a - floor(a), kept below 1."""
    if sf.is_infinite(f, a):
        return f.nan
    below = sf.to_integral(f, a, sf.DOWN)
    result = sf.add(f, a, sf.negate(f, below), mode)
    return f.one - 1 if result == f.one else result


def frexp_mantissa(f: Format, a: int) -> int:
    if not sf.is_finite(f, a) or sf.is_zero(f, a):
        return sf.quiet(f, a) if sf.is_nan(f, a) else a
    n = sf.unpack(f, a)
    return sf.pack(f, sf.Finite(n.sign, n.magnitude, -n.magnitude.bit_length()))


def frexp_exponent(f: Format, a: int) -> int:
    if not sf.is_finite(f, a) or sf.is_zero(f, a):
        return 0
    n = sf.unpack(f, a)
    return n.exponent + n.magnitude.bit_length()


def legacy_product(f: Format, a: int, b: int, mode: int) -> int:
    """0 times anything is +0 (DirectX 9)."""
    return 0 if sf.is_zero(f, a) or sf.is_zero(f, b) else sf.multiply(f, a, b, mode)


for kind, f in FORMATS.items():
    if kind == "bf16":
        continue
    one, two, three = kind, f"{kind} {kind}", f"{kind} {kind} {kind}"
    lanewise(f"v_add_{kind}", kind, two, lambda e, a, b, f=f: sf.add(f, a, b, e.rounding(f)))
    lanewise(f"v_sub_{kind}", kind, two, lambda e, a, b, f=f: sf.add(f, a, sf.negate(f, b), e.rounding(f)))
    lanewise(f"v_subrev_{kind}", kind, two, lambda e, a, b, f=f: sf.add(f, b, sf.negate(f, a), e.rounding(f)))
    lanewise(f"v_mul_{kind}", kind, two, lambda e, a, b, f=f: sf.multiply(f, a, b, e.rounding(f)))
    lanewise(f"v_fma_{kind}", kind, three, lambda e, a, b, c, f=f: sf.fused(f, a, b, c, e.rounding(f)), keeps_high=True)
    lanewise(
        f"v_fmac_{kind}",
        kind,
        f"{two} old:{kind}",
        lambda e, a, b, c, f=f: sf.fused(f, a, b, c, e.rounding(f)),
        keeps_high=True,
    )
    lanewise(f"v_min_{kind} v_min_num_{kind}", kind, two, lambda e, a, b, f=f: minimum(e, f, a, b))
    lanewise(f"v_max_{kind} v_max_num_{kind}", kind, two, lambda e, a, b, f=f: maximum(e, f, a, b))
    lanewise(f"v_minimum_{kind}", kind, two, lambda e, a, b, f=f: minimum_ieee2019(f, a, b))
    lanewise(f"v_maximum_{kind}", kind, two, lambda e, a, b, f=f: maximum_ieee2019(f, a, b))
    lanewise(f"v_trunc_{kind}", kind, one, lambda e, a, f=f: sf.to_integral(f, a, sf.ZERO))
    lanewise(f"v_floor_{kind}", kind, one, lambda e, a, f=f: sf.to_integral(f, a, sf.DOWN))
    lanewise(f"v_ceil_{kind}", kind, one, lambda e, a, f=f: sf.to_integral(f, a, sf.UP))
    lanewise(f"v_rndne_{kind}", kind, one, lambda e, a, f=f: sf.to_integral(f, a, sf.NEAREST))
    lanewise(f"v_fract_{kind}", kind, one, lambda e, a, f=f: fraction(f, a, e.rounding(f)))
    lanewise(f"v_frexp_mant_{kind}", kind, one, lambda e, a, f=f: frexp_mantissa(f, a))
    exponent = "u16" if kind == "f16" else "u32"
    lanewise(f"v_frexp_exp_i{exponent[1:]}_{kind}", exponent, one, lambda e, a, f=f: frexp_exponent(f, a))
    power = "i16" if kind == "f16" else "i32"
    lanewise(f"v_ldexp_{kind}", kind, f"{kind} {power}", lambda e, a, b, f=f: sf.scale(f, a, b, e.rounding(f)))

for kind, f in (("f16", F16), ("f32", F32)):
    three = f"{kind} {kind} {kind}"
    lanewise(f"v_min3_{kind} v_min3_num_{kind}", kind, three, lambda e, *x, f=f: minimum3(e, f, *x), keeps_high=True)
    lanewise(f"v_max3_{kind} v_max3_num_{kind}", kind, three, lambda e, *x, f=f: maximum3(e, f, *x), keeps_high=True)
    lanewise(f"v_med3_{kind} v_med3_num_{kind}", kind, three, lambda e, *x, f=f: median(e, f, *x), keeps_high=True)
    lanewise(
        f"v_minimum3_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: minimum_ieee2019(f, minimum_ieee2019(f, a, b), c),
        keeps_high=True,
    )
    lanewise(
        f"v_maximum3_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: maximum_ieee2019(f, maximum_ieee2019(f, a, b), c),
        keeps_high=True,
    )
    lanewise(
        f"v_minmax_{kind} v_minmax_num_{kind} v_min_max_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: maximum(e, f, minimum(e, f, a, b), c),
        keeps_high=True,
    )
    lanewise(
        f"v_maxmin_{kind} v_maxmin_num_{kind} v_max_min_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: minimum(e, f, maximum(e, f, a, b), c),
        keeps_high=True,
    )
    lanewise(
        f"v_minimummaximum_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: maximum_ieee2019(f, minimum_ieee2019(f, a, b), c),
        keeps_high=True,
    )
    lanewise(
        f"v_maximumminimum_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: minimum_ieee2019(f, maximum_ieee2019(f, a, b), c),
        keeps_high=True,
    )
    lanewise(
        f"v_fmamk_{kind} v_fmaak_{kind}",
        kind,
        three,
        lambda e, a, b, c, f=f: sf.fused(f, a, b, c, e.rounding(f)),
        keeps_high=True,
    )


def separate(f: Format, e: Environment, a: int, b: int, c: int) -> int:
    """v_mad: the product is rounded before the addition, and denormals are lost whatever MODE says."""
    mode = e.rounding(f)
    product = sf.flush(f, sf.multiply(f, sf.flush(f, a), sf.flush(f, b), mode))
    return sf.flush(f, sf.add(f, product, sf.flush(f, c), mode))


def separate_half(e: Environment, a: int, b: int, c: int) -> int:
    return sf.add(F16, sf.multiply(F16, a, b, e.rounding(F16)), c, e.rounding(F16))


lanewise("v_mad_f16", "f16", "f16 f16 f16", separate_half, keeps_high=True)
lanewise("v_mad_legacy_f16 v_madak_f16 v_madmk_f16", "f16", "f16 f16 f16", separate_half)
lanewise("v_fma_legacy_f16", "f16", "f16 f16 f16", lambda e, a, b, c: sf.fused(F16, a, b, c, e.rounding(F16)))
lanewise("v_mac_f16", "f16", "f16 f16 old:f16", separate_half, keeps_high=True)
lanewise("v_fmamk_f64 v_fmaak_f64", "f64", "f64 f64 f64", lambda e, a, b, c: sf.fused(F64, a, b, c, e.rounding(F64)))
lanewise("v_madak_f32 v_madmk_f32", "f32", "f32 f32 f32", lambda e, a, b, c: separate(F32, e, a, b, c))
lanewise("v_mad_f32", "f32", "f32 f32 f32", lambda e, a, b, c: separate(F32, e, a, b, c))
lanewise("v_mac_f32", "f32", "f32 f32 old:f32", lambda e, a, b, c: separate(F32, e, a, b, c))
lanewise(
    "v_mul_legacy_f32 v_mul_dx9_zero_f32", "f32", "f32 f32", lambda e, a, b: legacy_product(F32, a, b, e.rounding(F32))
)


def legacy_separate(e: Environment, a: int, b: int, c: int) -> int:
    a, b = sf.flush(F32, a), sf.flush(F32, b)
    product = 0 if sf.is_zero(F32, a) or sf.is_zero(F32, b) else sf.multiply(F32, a, b, e.rounding(F32))
    return sf.flush(F32, sf.add(F32, sf.flush(F32, product), sf.flush(F32, c), e.rounding(F32)))


lanewise("v_mad_legacy_f32", "f32", "f32 f32 f32", legacy_separate)


def lit(e: Environment, a: int, b: int, c: int) -> int:
    lowest = 0xFF7FFFFF
    hopeless = b in (lowest, F32.infinity | F32.sign_bit) or sf.is_nan(F32, b) or sf.is_nan(F32, c)
    if hopeless or sf.is_zero(F32, c) or sf.sign_of(F32, c):
        return lowest
    return sf.multiply(F32, a, b, e.rounding(F32))


lanewise("v_mullit_f32", "f32", "f32 f32 f32", lit)


def legacy_fused(e: Environment, a: int, b: int, c: int) -> int:
    if sf.is_zero(F32, a) or sf.is_zero(F32, b):
        return sf.quiet(F32, c) if sf.is_nan(F32, c) else c
    return sf.fused(F32, a, b, c, e.rounding(F32))


lanewise("v_fma_legacy_f32 v_fma_dx9_zero_f32", "f32", "f32 f32 f32", legacy_fused)
lanewise("v_fmac_legacy_f32 v_fmac_dx9_zero_f32", "f32", "f32 f32 old:f32", legacy_fused)


def at_least(x: int, y: int) -> bool:
    """|x| >= |y|; not so of a NaN."""
    return not (sf.is_nan(F32, x) or sf.is_nan(F32, y)) and x & 0x7FFFFFFF >= y & 0x7FFFFFFF


def cube_axis(x: int, y: int, z: int) -> str:
    if at_least(z, x) and at_least(z, y):
        return "z"
    return "y" if at_least(y, x) else "x"


def is_negative(x: int) -> bool:
    return bool(x >> 31) and not sf.is_zero(F32, x) and not sf.is_nan(F32, x)


def cube_face(x: int, y: int, z: int) -> int:
    axis = cube_axis(x, y, z)
    number = {"x": 0, "y": 2, "z": 4}[axis] + is_negative({"x": x, "y": y, "z": z}[axis])
    return sf.from_integer(F32, number)


def cube_s(x: int, y: int, z: int) -> int:
    axis = cube_axis(x, y, z)
    if axis == "z":
        return sf.negate(F32, x) if is_negative(z) else x
    if axis == "y":
        return x
    return z if is_negative(x) else sf.negate(F32, z)


def cube_t(x: int, y: int, z: int) -> int:
    if cube_axis(x, y, z) == "y":
        return sf.negate(F32, z) if is_negative(y) else z
    return sf.negate(F32, y)


def cube_major(x: int, y: int, z: int) -> int:
    return sf.scale(F32, {"x": x, "y": y, "z": z}[cube_axis(x, y, z)], 1)


lanewise("v_cubeid_f32", "f32", "f32 f32 f32", lambda e, x, y, z: cube_face(x, y, z))
lanewise("v_cubesc_f32", "f32", "f32 f32 f32", lambda e, x, y, z: cube_s(x, y, z))
lanewise("v_cubetc_f32", "f32", "f32 f32 f32", lambda e, x, y, z: cube_t(x, y, z))
lanewise("v_cubema_f32", "f32", "f32 f32 f32", lambda e, x, y, z: cube_major(x, y, z))

lanewise("v_pack_b32_f16", "u32", "f16 f16", lambda e, a, b: a | b << 16)


def bitwise_from_table(table: int, a: int, b: int, c: int, bits: int) -> int:
    """Bit i of the result is the table's entry at (a_i, b_i, c_i)."""
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(bits))


__all__ = ["F64", "bitwise_from_table", "signed"]
