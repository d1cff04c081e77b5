"""The steps of a division, and the multiplier of large trigonometric arguments (native/division.h)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

ROWS: tuple[Row, ...] = (
    *lane(
        "v_div_scale_f32", "f32 mask = f32 f32 f32", "uint32_t post; d = kpt_div_scale_f32(a, b, c, &post); e = post"
    ),
    *lane(
        "v_div_scale_f64", "f64 mask = f64 f64 f64", "uint32_t post; d = kpt_div_scale_f64(a, b, c, &post); e = post"
    ),
    *lane("v_div_fmas_f32", "f32 = f32 f32 f32 mask", "kpt_div_fmas_f32(a, b, c, f)"),
    *lane("v_div_fmas_f64", "f64 = f64 f64 f64 mask", "kpt_div_fmas_f64(a, b, c, f)"),
    *lane("v_div_fixup_f32", "f32 = f32 f32 f32", "kpt_div_fixup_f32(a, b, c)"),
    *lane("v_div_fixup_f64", "f64 = f64 f64 f64", "kpt_div_fixup_f64(a, b, c)"),
    *lane("v_div_fixup_f16", "f16 = f16 f16 f16", "kpt_div_fixup_f16(a, b, c)", keeps_high=True),
    *lane("v_div_fixup_legacy_f16", "f16 = f16 f16 f16", "kpt_div_fixup_f16(a, b, c)"),
    *lane("v_trig_preop_f64", "f64 = f64 u32", "kpt_trig_preop(a, b)", alone=True),
)
