"""Single- and half-precision instructions of every lane."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

_LEGACY = "a == 0.0f || b == 0.0f ? 0.0f : a * b"


# To even whatever MODE says; rint follows the mode but is what the host compiler vectorises.
_TO_EVEN = "kpt_mode_changes ? __builtin_roundevenf(a) : __builtin_rintf(a)"


def _min_max(kind: str) -> tuple[Row, ...]:
    two, three = f"{kind} = {kind} {kind}", f"{kind} = {kind} {kind} {kind}"
    low, high = "kpt_min_f32", "kpt_max_f32"
    # gfx9 has these with op_sel, and what has op_sel leaves the other half alone.
    keeps: dict[str, object] = {"keeps_high": kind == "f16"}
    return (
        *lane(f"v_min_{kind}|v_min_num_{kind}", two, f"{low}(a, b)"),
        *lane(f"v_max_{kind}|v_max_num_{kind}", two, f"{high}(a, b)"),
        *lane(f"v_minimum_{kind}", two, "kpt_minimum_f32(a, b)"),
        *lane(f"v_maximum_{kind}", two, "kpt_maximum_f32(a, b)"),
        *lane(f"v_min3_{kind}|v_min3_num_{kind}", three, f"{low}({low}(a, b), c)", **keeps),
        *lane(f"v_max3_{kind}|v_max3_num_{kind}", three, f"{high}({high}(a, b), c)", **keeps),
        *lane(f"v_minimum3_{kind}", three, "kpt_minimum_f32(kpt_minimum_f32(a, b), c)", **keeps),
        *lane(f"v_maximum3_{kind}", three, "kpt_maximum_f32(kpt_maximum_f32(a, b), c)", **keeps),
        *lane(f"v_med3_{kind}|v_med3_num_{kind}", three, "kpt_med3_f32(a, b, c)", **keeps),
        *lane(f"v_maxmin_{kind}|v_max_min_{kind}|v_maxmin_num_{kind}", three, f"{low}({high}(a, b), c)", **keeps),
        *lane(f"v_minmax_{kind}|v_min_max_{kind}|v_minmax_num_{kind}", three, f"{high}({low}(a, b), c)", **keeps),
        *lane(f"v_maximumminimum_{kind}", three, "kpt_minimum_f32(kpt_maximum_f32(a, b), c)", **keeps),
        *lane(f"v_minimummaximum_{kind}", three, "kpt_maximum_f32(kpt_minimum_f32(a, b), c)", **keeps),
    )


ROWS: tuple[Row, ...] = (
    *lane("v_add_f32", "f32 = f32 f32", "a + b"),
    *lane("v_sub_f32", "f32 = f32 f32", "a - b"),
    *lane("v_subrev_f32", "f32 = f32 f32", "b - a"),
    *lane("v_mul_f32", "f32 = f32 f32", "a * b"),
    *lane("v_mul_legacy_f32|v_mul_dx9_zero_f32", "f32 = f32 f32", _LEGACY),
    *lane("v_fma_f32", "f32 = f32 f32 f32", "__builtin_fmaf(a, b, c)"),
    *lane("v_fmac_f32", "+f32 = f32 f32", "__builtin_fmaf(a, b, d)"),
    *lane("v_fma_legacy_f32|v_fma_dx9_zero_f32", "f32 = f32 f32 f32",
          "a == 0.0f || b == 0.0f ? c : __builtin_fmaf(a, b, c)"),
    *lane("v_fmac_legacy_f32|v_fmac_dx9_zero_f32", "+f32 = f32 f32",
          "a == 0.0f || b == 0.0f ? d : __builtin_fmaf(a, b, d)"),
    *lane("v_fmaak_f32", "f32 = f32 f32 f32", "__builtin_fmaf(a, b, c)"),
    *lane("v_fmamk_f32", "f32 = f32 f32 f32", "__builtin_fmaf(a, b, c)"),
    *lane(
        "v_mad_f32",
        "f32 = f32 f32 f32",
        "kpt_flush_f32(kpt_flush_f32(kpt_flush_f32(a) * kpt_flush_f32(b)) + kpt_flush_f32(c))",
    ),
    *lane(
        "v_mac_f32",
        "+f32 = f32 f32",
        "kpt_flush_f32(kpt_flush_f32(kpt_flush_f32(a) * kpt_flush_f32(b)) + kpt_flush_f32(d))",
    ),
    # 0 * anything is 0, as in DirectX 9.
    *lane(
        "v_mad_legacy_f32",
        "f32 = f32 f32 f32",
        "const float x = kpt_flush_f32(a), y = kpt_flush_f32(b); "
        "d = kpt_flush_f32((x == 0.0f || y == 0.0f ? 0.0f : kpt_flush_f32(x * y)) + kpt_flush_f32(c))",
    ),
    *lane(
        "v_mullit_f32",
        "f32 = f32 f32 f32",
        "d = !(b > -0x1.fffffep127f) || !(c > 0.0f) ? -0x1.fffffep127f : a * b",
    ),
    *lane("v_madak_f32|v_madmk_f32", "f32 = f32 f32 f32",
          "kpt_flush_f32(kpt_flush_f32(kpt_flush_f32(a) * kpt_flush_f32(b)) + kpt_flush_f32(c))"),
    *_min_max("f32"),
    *_min_max("f16"),
    *lane("v_rcp_f32|v_rcp_iflag_f32", "f32 = f32", "1.0f / a"),
    *lane("v_rsq_f32", "f32 = f32", "kpt_rsq_f32(a)"),
    *lane("v_sqrt_f32", "f32 = f32", "__builtin_sqrtf(a)"),
    *lane("v_exp_f32|v_exp_legacy_f32", "f32 = f32", "kpt_exp2_f32(a)"),
    *lane("v_log_f32|v_log_legacy_f32", "f32 = f32", "kpt_log2_f32(a)"),
    *lane("v_sin_f32", "f32 = f32", "kpt_sin_f32(a)"),
    *lane("v_cos_f32", "f32 = f32", "kpt_cos_f32(a)"),
    *lane("v_floor_f32", "f32 = f32", "__builtin_floorf(a)"),
    *lane("v_ceil_f32", "f32 = f32", "__builtin_ceilf(a)"),
    *lane("v_trunc_f32", "f32 = f32", "__builtin_truncf(a)"),
    *lane("v_rndne_f32", "f32 = f32", _TO_EVEN),
    *lane("v_fract_f32", "f32 = f32", "kpt_fract_f32(a)"),
    *lane("v_frexp_exp_i32_f32", "i32 = f32", "kpt_frexp_exp_f32(a)"),
    *lane("v_frexp_mant_f32", "f32 = f32", "kpt_frexp_mant_f32(a)"),
    *lane("v_ldexp_f32", "f32 = f32 i32", "kpt_ldexp_f32(a, b)"),
    *lane("v_add_f16", "f16 = f16 f16", "a + b"),
    *lane("v_sub_f16", "f16 = f16 f16", "a - b"),
    *lane("v_subrev_f16", "f16 = f16 f16", "b - a"),
    *lane("v_mul_f16", "f16 = f16 f16", "a * b"),
    *lane("v_fma_f16", "h16 = f16 f16 f16", "kpt_fma_half(a, b, c)", keeps_high=True),
    *lane("v_fmac_f16", "+h16 = f16 f16", "kpt_fma_half(a, b, kpt_half_to_f32(d))"),
    *lane("v_fmaak_f16|v_fmamk_f16", "h16 = f16 f16 f16", "kpt_fma_half(a, b, c)"),
    *lane("v_mad_f16", "f16 = f16 f16 f16", "kpt_half_to_f32(kpt_f32_to_half(a * b)) + c", keeps_high=True),
    *lane(
        "v_mad_legacy_f16|v_madak_f16|v_madmk_f16",
        "f16 = f16 f16 f16",
        "kpt_half_to_f32(kpt_f32_to_half(a * b)) + c",
    ),
    *lane("v_fma_legacy_f16", "h16 = f16 f16 f16", "kpt_fma_half(a, b, c)"),
    *lane("v_mac_f16", "+f16 = f16 f16", "kpt_half_to_f32(kpt_f32_to_half(a * b)) + d", keeps_high=True),
    *lane("v_rcp_f16", "f16 = f16", "1.0f / a"),
    *lane("v_rsq_f16", "h16 = f16", "kpt_f64_to_half(1.0 / __builtin_sqrt((double)a))"),
    *lane("v_sqrt_f16", "f16 = f16", "__builtin_sqrtf(a)"),
    *lane("v_exp_f16", "h16 = f16", "kpt_f64_to_half(kpt_exp2_wide((double)a))"),
    *lane("v_log_f16", "f16 = f16", "kpt_log2_f32(a)"),
    *lane("v_sin_f16", "f16 = f16", "kpt_sin_f32(a)"),
    *lane("v_cos_f16", "f16 = f16", "kpt_cos_f32(a)"),
    *lane("v_floor_f16", "f16 = f16", "__builtin_floorf(a)"),
    *lane("v_ceil_f16", "f16 = f16", "__builtin_ceilf(a)"),
    *lane("v_trunc_f16", "f16 = f16", "__builtin_truncf(a)"),
    *lane("v_rndne_f16", "f16 = f16", _TO_EVEN),
    *lane(
        "v_fract_f16",
        "h16 = f16",
        "uint16_t t = kpt_f32_to_half(a - __builtin_floorf(a)); d = t > 0x3bffu && t < 0x7c00u ? 0x3bffu : t",
    ),
    *lane("v_frexp_exp_i16_f16", "i16 = f16", "(int16_t)kpt_frexp_exp_f32(a)"),
    *lane("v_frexp_mant_f16", "f16 = f16", "kpt_frexp_mant_f32(a)"),
    *lane(
        "v_ldexp_f16",
        "h16 = f16 i16",
        "kpt_f64_to_half((double)a * kpt_power_of_two(b < -200 ? -200 : b > 200 ? 200 : b))",
    ),
)  # fmt: skip
