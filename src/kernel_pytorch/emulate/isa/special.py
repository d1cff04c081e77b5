"""Rare instructions: cube maps, normalised halves, sums of byte differences, transcendentals into scalars."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane, scalar, wave

_CUBE = "const float x = kpt_magnitude(a), y = kpt_magnitude(b), z = kpt_magnitude(c); "
_Z, _Y = "z >= x && z >= y", "y >= x"


def _quad_sums(function: str) -> str:
    """Four sums of byte differences at byte offsets 0 to 3 of a, each added to 16 bits of c."""
    terms = (
        f"(uint64_t)({function}((uint32_t)(a >> {8 * i}), b, (uint32_t)(c >> {16 * i}) & 0xffffu) & 0xffffu)"
        f" << {16 * i}"
        for i in range(4)
    )
    return " | ".join(terms)


ROWS: tuple[Row, ...] = (
    *lane(
        "v_cubeid_f32",
        "f32 = f32 f32 f32",
        f"{_CUBE}d = {_Z} ? (c < 0.0f ? 5.0f : 4.0f) : {_Y} ? (b < 0.0f ? 3.0f : 2.0f) : (a < 0.0f ? 1.0f : 0.0f)",
    ),
    *lane(
        "v_cubesc_f32",
        "f32 = f32 f32 f32",
        f"{_CUBE}d = {_Z} ? (c < 0.0f ? -a : a) : {_Y} ? a : (a < 0.0f ? c : -c)",
    ),
    *lane("v_cubetc_f32", "f32 = f32 f32 f32", f"{_CUBE}d = {_Z} ? -b : {_Y} ? (b < 0.0f ? -c : c) : -b"),
    *lane("v_cubema_f32", "f32 = f32 f32 f32", f"{_CUBE}d = 2.0f * ({_Z} ? c : {_Y} ? b : a)"),
    *lane("v_cvt_norm_i16_f16", "u16 = f16", "kpt_to_snorm(a)"),
    *lane("v_cvt_norm_u16_f16", "u16 = f16", "kpt_to_unorm(a)"),
    *lane(
        "v_cvt_pknorm_i16_f16|v_cvt_pk_norm_i16_f16",
        "u32 = f16 f16",
        "kpt_to_snorm(a) | (uint32_t)kpt_to_snorm(b) << 16",
    ),
    *lane(
        "v_cvt_pknorm_u16_f16|v_cvt_pk_norm_u16_f16",
        "u32 = f16 f16",
        "kpt_to_unorm(a) | (uint32_t)kpt_to_unorm(b) << 16",
    ),
    *lane("v_cvt_pk_i16_f32", "u32 = f32 f32", "(uint16_t)kpt_to_i16(a) | (uint32_t)(uint16_t)kpt_to_i16(b) << 16"),
    *lane("v_cvt_pk_u16_f32", "u32 = f32 f32", "kpt_to_u16(a) | (uint32_t)kpt_to_u16(b) << 16"),
    *lane("v_qsad_pk_u16_u8", "u64 = u64 u32 u64", _quad_sums("kpt_sad_u8")),
    *lane("v_mqsad_pk_u16_u8", "u64 = u64 u32 u64", _quad_sums("kpt_msad_u8")),
    *lane(
        "v_bitop3_b16",
        "u16 = u16 u16 u16",
        "(uint16_t)kpt_bitop3(a, b, c, {bitop3})",
        modifiers=("bitop3",),
        keeps_high=True,
    ),
    *(
        row
        for name, single, half in (
            ("exp", "kpt_exp2_f32(a)", "kpt_f64_to_half(kpt_exp2_wide((double)a))"),
            ("log", "kpt_log2_f32(a)", "kpt_f32_to_half(kpt_log2_f32(a))"),
            ("rcp", "1.0f / a", "kpt_f32_to_half(1.0f / a)"),
            ("rsq", "kpt_rsq_f32(a)", "kpt_f64_to_half(1.0 / __builtin_sqrt((double)a))"),
            ("sqrt", "__builtin_sqrtf(a)", "kpt_f32_to_half(__builtin_sqrtf(a))"),
        )
        for row in (
            *scalar(f"v_s_{name}_f32", "f32 = f32", single),
            *scalar(f"v_s_{name}_f16", "h16 = f16", half),
        )
    ),
    *wave(
        "ds_bpermute_fi_b32",
        "v1 = v1 v1",
        "kpt_bpermute_any(d, a, b, {offset}, ex);",
        modifiers=("offset",),
        counts_as="lds",
    ),
)
