"""Vector integer and bit instructions."""

from __future__ import annotations

from .registry import lanewise, signed
from .scalar import first_set, leading_sign, leading_zeros, reverse
from .state import MASK32, MASK64, Environment

M16 = 0xFFFF


def saturated(env: Environment, value: int, low: int, high: int) -> int:
    """Integer results saturate where the instruction says clamp, and wrap otherwise."""
    return min(max(value, low), high) if env.clamp else value


def sat_i32(env: Environment, value: int) -> int:
    return saturated(env, value, -(1 << 31), (1 << 31) - 1)


def sat_u32(env: Environment, value: int) -> int:
    return saturated(env, value, 0, MASK32)


def sat_i16(env: Environment, value: int) -> int:
    return saturated(env, value, -(1 << 15), (1 << 15) - 1)


def sat_u16(env: Environment, value: int) -> int:
    return saturated(env, value, 0, M16)


lanewise("v_mov_b32", "u32", "u32", lambda e, a: a)
lanewise("v_mov_b16", "u16", "u16", lambda e, a: a)
lanewise("v_mov_b64", "u64", "u64", lambda e, a: a)
lanewise("v_not_b32", "u32", "u32", lambda e, a: ~a)
lanewise("v_not_b16", "u16", "u16", lambda e, a: ~a)
lanewise("v_bfrev_b32", "u32", "u32", lambda e, a: reverse(a, 32))
lanewise("v_ffbh_u32 v_clz_i32_u32", "u32", "u32", lambda e, a: leading_zeros(a, 32))
lanewise("v_ffbl_b32 v_ctz_i32_b32", "u32", "u32", lambda e, a: first_set(a))
lanewise("v_ffbh_i32 v_cls_i32", "u32", "u32", lambda e, a: leading_sign(a, 32))
lanewise("v_bcnt_u32_b32", "u32", "u32 u32", lambda e, a, b: a.bit_count() + b)
lanewise("v_and_b32", "u32", "u32 u32", lambda e, a, b: a & b)
lanewise("v_or_b32", "u32", "u32 u32", lambda e, a, b: a | b)
lanewise("v_xor_b32", "u32", "u32 u32", lambda e, a, b: a ^ b)
lanewise("v_xnor_b32", "u32", "u32 u32", lambda e, a, b: ~(a ^ b))
lanewise("v_and_b16", "u16", "u16 u16", lambda e, a, b: a & b)
lanewise("v_or_b16", "u16", "u16 u16", lambda e, a, b: a | b)
lanewise("v_xor_b16", "u16", "u16 u16", lambda e, a, b: a ^ b)
lanewise("v_cndmask_b32", "u32", "u32 u32 mask", lambda e, a, b, c: b if c else a)
lanewise("v_cndmask_b16", "u16", "u16 u16 mask", lambda e, a, b, c: b if c else a)

lanewise("v_lshlrev_b32", "u32", "u32 u32", lambda e, a, b: b << (a & 31))
lanewise("v_lshrrev_b32", "u32", "u32 u32", lambda e, a, b: b >> (a & 31))
lanewise("v_ashrrev_i32", "u32", "u32 i32", lambda e, a, b: b >> (a & 31))
lanewise("v_lshl_b32", "u32", "u32 u32", lambda e, a, b: a << (b & 31))
lanewise("v_lshlrev_b16", "u16", "u16 u16", lambda e, a, b: b << (a & 15))
lanewise("v_lshrrev_b16", "u16", "u16 u16", lambda e, a, b: b >> (a & 15))
lanewise("v_ashrrev_i16", "u16", "u16 i16", lambda e, a, b: b >> (a & 15))
lanewise("v_lshlrev_b64", "u64", "u32 u64", lambda e, a, b: b << (a & 63))
lanewise("v_lshrrev_b64", "u64", "u32 u64", lambda e, a, b: b >> (a & 63))
lanewise("v_ashrrev_i64", "u64", "u32 i64", lambda e, a, b: b >> (a & 63))

lanewise("v_add_u32 v_add_nc_u32", "u32", "u32 u32", lambda e, a, b: sat_u32(e, a + b))
lanewise("v_sub_u32 v_sub_nc_u32", "u32", "u32 u32", lambda e, a, b: sat_u32(e, a - b))
lanewise("v_subrev_u32 v_subrev_nc_u32", "u32", "u32 u32", lambda e, a, b: sat_u32(e, b - a))
lanewise("v_add_i32 v_add_nc_i32", "u32", "i32 i32", lambda e, a, b: sat_i32(e, a + b))
lanewise("v_sub_i32 v_sub_nc_i32", "u32", "i32 i32", lambda e, a, b: sat_i32(e, a - b))
lanewise("v_add_u16 v_add_nc_u16", "u16", "u16 u16", lambda e, a, b: sat_u16(e, a + b))
lanewise("v_sub_u16 v_sub_nc_u16", "u16", "u16 u16", lambda e, a, b: sat_u16(e, a - b))
lanewise("v_subrev_u16", "u16", "u16 u16", lambda e, a, b: sat_u16(e, b - a))
lanewise("v_add_i16 v_add_nc_i16", "u16", "i16 i16", lambda e, a, b: sat_i16(e, a + b), keeps_high=True)
lanewise("v_sub_i16 v_sub_nc_i16", "u16", "i16 i16", lambda e, a, b: sat_i16(e, a - b), keeps_high=True)
lanewise("v_mul_lo_u16", "u16", "u16 u16", lambda e, a, b: a * b)

lanewise("v_add_co_u32", "u32+mask", "u32 u32", lambda e, a, b: (sat_u32(e, a + b), a + b > MASK32))
lanewise("v_sub_co_u32", "u32+mask", "u32 u32", lambda e, a, b: (sat_u32(e, a - b), b > a))
lanewise("v_subrev_co_u32", "u32+mask", "u32 u32", lambda e, a, b: (sat_u32(e, b - a), a > b))
lanewise(
    "v_addc_co_u32 v_add_co_ci_u32",
    "u32+mask",
    "u32 u32 mask",
    lambda e, a, b, c: (sat_u32(e, a + b + c), a + b + c > MASK32),
)
lanewise(
    "v_subb_co_u32 v_sub_co_ci_u32", "u32+mask", "u32 u32 mask", lambda e, a, b, c: (sat_u32(e, a - b - c), b + c > a)
)
lanewise(
    "v_subbrev_co_u32 v_subrev_co_ci_u32",
    "u32+mask",
    "u32 u32 mask",
    lambda e, a, b, c: (sat_u32(e, b - a - c), a + c > b),
)

lanewise("v_min_i32", "u32", "i32 i32", lambda e, a, b: min(a, b))
lanewise("v_max_i32", "u32", "i32 i32", lambda e, a, b: max(a, b))
lanewise("v_min_u32", "u32", "u32 u32", lambda e, a, b: min(a, b))
lanewise("v_max_u32", "u32", "u32 u32", lambda e, a, b: max(a, b))
lanewise("v_min_i16", "u16", "i16 i16", lambda e, a, b: min(a, b))
lanewise("v_max_i16", "u16", "i16 i16", lambda e, a, b: max(a, b))
lanewise("v_min_u16", "u16", "u16 u16", lambda e, a, b: min(a, b))
lanewise("v_max_u16", "u16", "u16 u16", lambda e, a, b: max(a, b))
for kind in ("i32", "u32", "i16", "u16"):
    result = "u" + kind[1:]
    three = f"{kind} {kind} {kind}"
    lanewise(f"v_min3_{kind}", result, three, lambda e, *x: min(x), keeps_high=True)
    lanewise(f"v_max3_{kind}", result, three, lambda e, *x: max(x), keeps_high=True)
    lanewise(f"v_med3_{kind}", result, three, lambda e, *x: sorted(x)[1], keeps_high=True)
for kind in ("i32", "u32"):
    lanewise(f"v_minmax_{kind} v_min_max_{kind}", "u32", f"{kind} {kind} {kind}", lambda e, a, b, c: max(min(a, b), c))
    lanewise(f"v_maxmin_{kind} v_max_min_{kind}", "u32", f"{kind} {kind} {kind}", lambda e, a, b, c: min(max(a, b), c))

lanewise("v_mul_lo_u32 v_mul_lo_i32", "u32", "u32 u32", lambda e, a, b: a * b)
lanewise("v_mul_hi_u32", "u32", "u32 u32", lambda e, a, b: a * b >> 32)
lanewise("v_mul_hi_i32", "u32", "i32 i32", lambda e, a, b: a * b >> 32)


def u24(x: int) -> int:
    return x & 0xFFFFFF


def i24(x: int) -> int:
    return signed(x, 24)


lanewise("v_mul_u32_u24", "u32", "u32 u32", lambda e, a, b: sat_u32(e, u24(a) * u24(b)))
lanewise("v_mul_i32_i24", "u32", "u32 u32", lambda e, a, b: sat_i32(e, i24(a) * i24(b)))
lanewise("v_mul_hi_u32_u24", "u32", "u32 u32", lambda e, a, b: u24(a) * u24(b) >> 32)
lanewise("v_mul_hi_i32_i24", "u32", "u32 u32", lambda e, a, b: i24(a) * i24(b) >> 32)
lanewise("v_mad_u32_u24", "u32", "u32 u32 u32", lambda e, a, b, c: sat_u32(e, u24(a) * u24(b) + c))
lanewise("v_mad_i32_i24", "u32", "u32 u32 i32", lambda e, a, b, c: sat_i32(e, i24(a) * i24(b) + c))
lanewise("v_mad_u16", "u16", "u16 u16 u16", lambda e, a, b, c: sat_u16(e, a * b + c), keeps_high=True)
lanewise("v_mad_i16", "u16", "i16 i16 i16", lambda e, a, b, c: sat_i16(e, a * b + c), keeps_high=True)
lanewise("v_mad_legacy_u16", "u16", "u16 u16 u16", lambda e, a, b, c: sat_u16(e, a * b + c))
lanewise("v_mad_legacy_i16", "u16", "i16 i16 i16", lambda e, a, b, c: sat_i16(e, a * b + c))
lanewise("v_mad_u32_u16", "u32", "u16 u16 u32", lambda e, a, b, c: sat_u32(e, a * b + c))
lanewise("v_mad_i32_i16", "u32", "i16 i16 i32", lambda e, a, b, c: sat_i32(e, a * b + c))


def mad_u64(e: Environment, a: int, b: int, c: int) -> tuple[int, int]:
    total = a * b + c
    return (min(total, MASK64) if e.clamp else total), total >> 64


def mad_i64(e: Environment, a: int, b: int, c: int) -> tuple[int, int]:
    total = a * b + c
    low, high = -(1 << 63), (1 << 63) - 1
    return saturated(e, total, low, high), not low <= total <= high


lanewise("v_mad_u64_u32 v_mad_co_u64_u32", "u64+mask", "u32 u32 u64", mad_u64)
lanewise("v_mad_i64_i32 v_mad_co_i64_i32", "u64+mask", "i32 i32 i64", mad_i64)

lanewise("v_bfe_u32", "u32", "u32 u32 u32", lambda e, a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1))
lanewise("v_bfe_i32", "u32", "i32 u32 u32", lambda e, a, b, c: signed(a >> (b & 31), c & 31) if c & 31 else 0)
lanewise("v_bfi_b32", "u32", "u32 u32 u32", lambda e, a, b, c: a & b | ~a & c)
lanewise("v_bfm_b32", "u32", "u32 u32", lambda e, a, b: ((1 << (a & 31)) - 1) << (b & 31))
lanewise("v_alignbit_b32", "u32", "u32 u32 u32", lambda e, a, b, c: (a << 32 | b) >> (c & 31))
lanewise("v_alignbyte_b32", "u32", "u32 u32 u32", lambda e, a, b, c: (a << 32 | b) >> (8 * (c & 3)))
lanewise("v_lshl_add_u32", "u32", "u32 u32 u32", lambda e, a, b, c: (a << (b & 31)) + c)
lanewise("v_add_lshl_u32", "u32", "u32 u32 u32", lambda e, a, b, c: (a + b) << (c & 31))
lanewise("v_add3_u32", "u32", "u32 u32 u32", lambda e, a, b, c: a + b + c)
lanewise("v_lshl_or_b32", "u32", "u32 u32 u32", lambda e, a, b, c: a << (b & 31) | c)
lanewise("v_and_or_b32", "u32", "u32 u32 u32", lambda e, a, b, c: a & b | c)
lanewise("v_or3_b32", "u32", "u32 u32 u32", lambda e, a, b, c: a | b | c)
lanewise("v_xor3_b32", "u32", "u32 u32 u32", lambda e, a, b, c: a ^ b ^ c)
lanewise("v_xad_u32", "u32", "u32 u32 u32", lambda e, a, b, c: (a ^ b) + c)
lanewise("v_lshl_add_u64", "u64", "u64 u32 u64", lambda e, a, b, c: (a << (b & 7)) + c)


def octets(x: int) -> list[int]:
    return [x >> (8 * i) & 0xFF for i in range(4)]


def sad_u8(a: int, b: int, c: int) -> int:
    return c + sum(abs(x - y) for x, y in zip(octets(a), octets(b), strict=True))


def msad_u8(a: int, b: int, c: int) -> int:
    """As sad_u8, without the bytes whose reference is zero."""
    return c + sum(abs(x - y) for x, y in zip(octets(a), octets(b), strict=True) if y)


def lerp_u8(a: int, b: int, c: int) -> int:
    bytes_of = zip(octets(a), octets(b), octets(c), strict=True)
    return sum(((x + y + (z & 1)) >> 1) << (8 * i) for i, (x, y, z) in enumerate(bytes_of))


def permute_byte(data: int, select: int) -> int:
    source = [data >> (8 * i) & 0xFF for i in range(8)]
    if select >= 13:
        return 0xFF
    if select == 12:
        return 0
    if select >= 8:
        return 0xFF if source[2 * (select - 8) + 1] >> 7 else 0
    return source[select]


lanewise("v_sad_u8", "u32", "u32 u32 u32", lambda e, a, b, c: sat_u32(e, sad_u8(a, b, c)))
lanewise("v_sad_hi_u8", "u32", "u32 u32 u32", lambda e, a, b, c: sat_u32(e, (sad_u8(a, b, 0) << 16) + c))
lanewise(
    "v_sad_u16",
    "u32",
    "u32 u32 u32",
    lambda e, a, b, c: sat_u32(e, c + abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16))),
)
lanewise("v_sad_u32", "u32", "u32 u32 u32", lambda e, a, b, c: sat_u32(e, abs(a - b) + c))
lanewise("v_msad_u8", "u32", "u32 u32 u32", lambda e, a, b, c: sat_u32(e, msad_u8(a, b, c)))
lanewise("v_lerp_u8", "u32", "u32 u32 u32", lambda e, a, b, c: lerp_u8(a, b, c))
lanewise(
    "v_perm_b32",
    "u32",
    "u32 u32 u32",
    lambda e, a, b, c: sum(permute_byte(a << 32 | b, s) << (8 * i) for i, s in enumerate(octets(c))),
)
lanewise(
    "v_qsad_pk_u16_u8",
    "u64",
    "u64 u32 u64",
    lambda e, a, b, c: sum((sad_u8(a >> 8 * i, b, c >> 16 * i & M16) & M16) << 16 * i for i in range(4)),
)
lanewise(
    "v_mqsad_pk_u16_u8",
    "u64",
    "u64 u32 u64",
    lambda e, a, b, c: sum((msad_u8(a >> 8 * i, b, c >> 16 * i & M16) & M16) << 16 * i for i in range(4)),
)
lanewise(
    "v_mqsad_u32_u8",
    "u128",
    "u64 u32 u128",
    lambda e, a, b, c: sum((msad_u8(a >> 8 * i, b, c >> 32 * i & MASK32) & MASK32) << 32 * i for i in range(4)),
)


def clamp_to(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


lanewise(
    "v_sat_pk_u8_i16",
    "u16",
    "u32",
    lambda e, a: clamp_to(signed(a, 16), 0, 255) | clamp_to(signed(a >> 16, 16), 0, 255) << 8,
)
lanewise("v_cvt_pk_u16_u32", "u32", "u32 u32", lambda e, a, b: min(a, M16) | min(b, M16) << 16)
lanewise(
    "v_cvt_pk_i16_i32",
    "u32",
    "i32 i32",
    lambda e, a, b: clamp_to(a, -32768, 32767) & M16 | (clamp_to(b, -32768, 32767) & M16) << 16,
)
lanewise(
    "v_ashr_pk_i8_i32",
    "u16",
    "i32 i32 u32",
    lambda e, a, b, c: clamp_to(a >> (c & 31), -128, 127) & 0xFF | (clamp_to(b >> (c & 31), -128, 127) & 0xFF) << 8,
    keeps_high=True,
)
lanewise(
    "v_ashr_pk_u8_i32",
    "u16",
    "i32 i32 u32",
    lambda e, a, b, c: clamp_to(a >> (c & 31), 0, 255) | clamp_to(b >> (c & 31), 0, 255) << 8,
    keeps_high=True,
)
lanewise("v_cvt_i32_i16", "u32", "i16", lambda e, a: a)
lanewise("v_cvt_u32_u16", "u32", "u16", lambda e, a: a)
lanewise("v_prng_b32", "u32", "u32", lambda e, a: a << 1 ^ (197 if a >> 31 else 0))
lanewise("v_mbcnt_lo_u32_b32", "u32", "u32 u32", lambda e, a, b: b + (a & ((1 << min(e.lane, 32)) - 1)).bit_count())
lanewise("v_mbcnt_hi_u32_b32", "u32", "u32 u32", lambda e, a, b: b + (a & ((1 << max(e.lane - 32, 0)) - 1)).bit_count())

lanewise("v_add_u64 v_add_nc_u64", "u64", "u64 u64", lambda e, a, b: saturated(e, a + b, 0, MASK64))
lanewise("v_sub_u64 v_sub_nc_u64", "u64", "u64 u64", lambda e, a, b: saturated(e, a - b, 0, MASK64))
lanewise("v_mul_u64", "u64", "u64 u64", lambda e, a, b: a * b)
lanewise("v_mad_nc_u64_u32", "u64", "u32 u32 u64", lambda e, a, b, c: saturated(e, a * b + c, 0, MASK64))
lanewise("v_mad_nc_i64_i32", "u64", "i32 i32 i64", lambda e, a, b, c: mad_i64(e, a, b, c)[0])
lanewise("v_mad_u32", "u32", "u32 u32 u32", lambda e, a, b, c: a * b + c)
for kind in ("u64", "i64"):
    lanewise(f"v_min_{kind}", "u64", f"{kind} {kind}", lambda e, a, b: min(a, b))
    lanewise(f"v_max_{kind}", "u64", f"{kind} {kind}", lambda e, a, b: max(a, b))
