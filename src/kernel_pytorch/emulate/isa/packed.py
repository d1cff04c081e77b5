"""VOP3P: packed arithmetic, mixed precision, dot products (native/packed.h)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

_MIX = ("op_sel", "op_sel_hi")
_SELECTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
_FMA_MIX = "kpt_fma_mix(a, b, c, {op_sel_hi:0}, {op_sel}, {abs}, {neg})"


def _halves(name: str, i: int) -> str:
    return f"kpt_packed_source({name}, {i}, {{op_sel}}, {{op_sel_hi}}, {{neg_lo}}, {{neg_hi}})"


def _addend() -> str:
    return "kpt_signed_source(c, 2, {neg_lo}, {neg_hi})"


def _dot2(name: str, function: str, families: tuple[str, ...] = ()) -> tuple[Row, ...]:
    body = f"{function}({_halves('a', 0)}, {_halves('b', 1)}, {_addend()})"
    return lane(name, "f32 = u32 u32 u32", body, modifiers=_SELECTS, families=families)


def _integer_dots() -> tuple[Row, ...]:
    rows: list[Row] = []
    for width, stem in ((16, "dot2"), (8, "dot4"), (4, "dot8")):
        total = f"(int64_t)(int32_t)c + kpt_dot_integer(a, b, {width}, 1, 1)"
        rows += lane(
            f"v_{stem}_i32_i{width}",
            "u32 = u32 u32 u32",
            f"(uint32_t)({total})",
            saturated=f"(uint32_t)kpt_clamp_i64_to_i32({total})",
        )
        total = f"(int64_t)(int32_t)d + kpt_dot_integer(a, b, {width}, 1, 1)"
        rows += lane(
            f"v_{stem}c_i32_i{width}",
            "+u32 = u32 u32",
            f"(uint32_t)({total})",
            saturated=f"(uint32_t)kpt_clamp_i64_to_i32({total})",
        )
        total = f"(int64_t)c + kpt_dot_integer(a, b, {width}, 0, 0)"
        rows += lane(
            f"v_{stem}_u32_u{width}",
            "u32 = u32 u32 u32",
            f"(uint32_t)({total})",
            saturated=f"kpt_saturate_u32({total})",
        )
    for width, stem in ((8, "dot4"), (4, "dot8")):
        total = f"(int64_t)(int32_t)c + kpt_dot_integer(a, b, {width}, {{neg_lo}} & 1u, {{neg_lo}} & 2u)"
        rows += lane(
            f"v_{stem}_i32_iu{width}",
            "u32 = u32 u32 u32",
            f"(uint32_t)({total})",
            saturated=f"(uint32_t)kpt_clamp_i64_to_i32({total})",
            modifiers=("neg_lo",),
        )
    return tuple(rows)


def _small_dots() -> tuple[Row, ...]:
    rows: list[Row] = []
    for left in ("fp8", "bf8"):
        for right in ("fp8", "bf8"):
            body = f"kpt_dot4_small(kpt_{left}_ocp, kpt_{right}_ocp, a, b, c)"
            rows += lane(f"v_dot4_f32_{left}_{right}", "f32 = u32 u32 f32", body)
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *lane("v_pk_add_f16", "f16 = f16 f16", "a + b", packed=2),
    *lane("v_pk_mul_f16", "f16 = f16 f16", "a * b", packed=2),
    *lane("v_pk_fma_f16", "h16 = f16 f16 f16", "kpt_fma_half(a, b, c)", packed=2),
    *lane("v_pk_min_f16|v_pk_min_num_f16", "f16 = f16 f16", "kpt_min_f32(a, b)", packed=2),
    *lane("v_pk_max_f16|v_pk_max_num_f16", "f16 = f16 f16", "kpt_max_f32(a, b)", packed=2),
    *lane("v_pk_minimum_f16", "f16 = f16 f16", "kpt_minimum_f32(a, b)", packed=2),
    *lane("v_pk_maximum_f16", "f16 = f16 f16", "kpt_maximum_f32(a, b)", packed=2),
    *lane("v_pk_minimum3_f16", "f16 = f16 f16 f16", "kpt_minimum_f32(kpt_minimum_f32(a, b), c)", packed=2),
    *lane("v_pk_maximum3_f16", "f16 = f16 f16 f16", "kpt_maximum_f32(kpt_maximum_f32(a, b), c)", packed=2),
    *lane(
        "v_pk_add_u16",
        "u16 = u16 u16",
        "(uint16_t)(a + b)",
        packed=2,
        saturated="(uint16_t)(a + b > 65535 ? 65535 : a + b)",
    ),
    *lane("v_pk_sub_u16", "u16 = u16 u16", "(uint16_t)(a - b)", packed=2, saturated="(uint16_t)(a < b ? 0 : a - b)"),
    *lane(
        "v_pk_add_i16",
        "i16 = i16 i16",
        "(int16_t)(a + b)",
        packed=2,
        saturated="(int16_t)(a + b < -32768 ? -32768 : a + b > 32767 ? 32767 : a + b)",
    ),
    *lane(
        "v_pk_sub_i16",
        "i16 = i16 i16",
        "(int16_t)(a - b)",
        packed=2,
        saturated="(int16_t)(a - b < -32768 ? -32768 : a - b > 32767 ? 32767 : a - b)",
    ),
    *lane("v_pk_mul_lo_u16", "u16 = u16 u16", "(uint16_t)((uint32_t)a * b)", packed=2),
    *lane(
        "v_pk_mad_u16",
        "u16 = u16 u16 u16",
        "(uint16_t)((uint32_t)a * b + c)",
        packed=2,
        saturated="uint64_t t = (uint64_t)a * b + c; d = (uint16_t)(t > 65535 ? 65535 : t)",
    ),
    *lane(
        "v_pk_mad_i16",
        "i16 = i16 i16 i16",
        "(int16_t)((uint32_t)(a * b) + (uint32_t)(int32_t)c)",
        packed=2,
        saturated="int64_t t = (int64_t)a * b + c; d = (int16_t)(t < -32768 ? -32768 : t > 32767 ? 32767 : t)",
    ),
    *lane("v_pk_min_u16", "u16 = u16 u16", "a < b ? a : b", packed=2),
    *lane("v_pk_max_u16", "u16 = u16 u16", "a > b ? a : b", packed=2),
    *lane("v_pk_min_i16", "i16 = i16 i16", "a < b ? a : b", packed=2),
    *lane("v_pk_max_i16", "i16 = i16 i16", "a > b ? a : b", packed=2),
    *lane("v_pk_lshlrev_b16", "u16 = u16 u16", "(uint16_t)((uint32_t)b << (a & 15))", packed=2),
    *lane("v_pk_lshrrev_b16", "u16 = u16 u16", "(uint16_t)(b >> (a & 15))", packed=2),
    *lane("v_pk_ashrrev_i16", "i16 = u16 i16", "(int16_t)(b >> (a & 15))", packed=2),
    *lane("v_pk_add_f32", "f32 = f32 f32", "a + b", packed=2),
    *lane("v_pk_mul_f32", "f32 = f32 f32", "a * b", packed=2),
    *lane("v_pk_fma_f32", "f32 = f32 f32 f32", "__builtin_fmaf(a, b, c)", packed=2),
    *lane(
        "v_pk_mov_b32",
        "u64 = u64 u64",
        "((b >> ({op_sel} & 2u ? 32 : 0)) << 32) | (uint32_t)(a >> ({op_sel} & 1u ? 32 : 0))",
        modifiers=("op_sel", "op_sel_hi"),
    ),
    *lane(
        "v_pk_fmac_f16",
        "+u32 = u32 u32",
        "kpt_fma_half(kpt_low_f16(a), kpt_low_f16(b), kpt_low_f16(d)) | "
        "(uint32_t)kpt_fma_half(kpt_high_f16(a), kpt_high_f16(b), kpt_high_f16(d)) << 16",
    ),
    *lane("v_fma_mix_f32", "f32 = u32 u32 u32", _FMA_MIX, modifiers=_MIX),
    *lane(
        "v_fma_mixlo_f16",
        "+u32 = u32 u32 u32",
        f"(d & 0xffff0000u) | kpt_f32_to_half({_FMA_MIX})",
        modifiers=_MIX,
        saturated=f"(d & 0xffff0000u) | kpt_f32_to_half(kpt_clamp_f32({_FMA_MIX}))",
    ),
    *lane(
        "v_fma_mixhi_f16",
        "+u32 = u32 u32 u32",
        f"(d & 0xffffu) | (uint32_t)kpt_f32_to_half({_FMA_MIX}) << 16",
        modifiers=_MIX,
        saturated=f"(d & 0xffffu) | (uint32_t)kpt_f32_to_half(kpt_clamp_f32({_FMA_MIX})) << 16",
    ),
    *_integer_dots(),
    *_small_dots(),
    *_dot2("v_dot2_f32_f16", "kpt_dot2_f16_flushed", ("gfx90a",)),
    *_dot2("v_dot2_f32_f16", "kpt_dot2_f16"),
    *_dot2("v_dot2_f32_bf16", "kpt_dot2_bf16_products_first", ("gfx950",)),
    *_dot2("v_dot2_f32_bf16", "kpt_dot2_bf16"),
    *lane("v_dot2c_f32_f16", "+f32 = u32 u32", "kpt_dot2_f16_flushed(a, b, d)", families=("gfx90a",)),
    *lane("v_dot2c_f32_f16|v_dot2acc_f32_f16", "+f32 = u32 u32", "kpt_dot2_f16(a, b, d)"),
    *lane("v_dot2c_f32_bf16|v_dot2acc_f32_bf16", "+f32 = u32 u32", "kpt_dot2_bf16(a, b, d)"),
    *lane("v_dot2_f16_f16", "h16 = u32 u32 u16", "kpt_dot2_f16_f16(a, b, c)"),
    *lane("v_dot2_bf16_bf16", "u16 = u32 u32 u16", "kpt_dot2_bf16_bf16(a, b, c)"),
)
