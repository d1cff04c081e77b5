"""Conversions between number formats, other than FP8 and packed ones."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

ROWS: tuple[Row, ...] = (
    *lane("v_cvt_f32_i32", "f32 = i32", "(float)a"),
    *lane("v_cvt_f32_u32", "f32 = u32", "(float)a"),
    *lane("v_cvt_i32_f32", "i32 = f32", "kpt_f32_to_i32(a)"),
    *lane("v_cvt_u32_f32", "u32 = f32", "kpt_f32_to_u32(a)"),
    *lane("v_cvt_rpi_i32_f32|v_cvt_nearest_i32_f32", "i32 = f32", "kpt_to_i32(__builtin_floor((double)a + 0.5))"),
    *lane("v_cvt_flr_i32_f32|v_cvt_floor_i32_f32", "i32 = f32", "kpt_f32_to_i32(__builtin_floorf(a))"),
    *lane("v_cvt_f64_i32", "f64 = i32", "(double)a"),
    *lane("v_cvt_f64_u32", "f64 = u32", "(double)a"),
    *lane("v_cvt_i32_f64", "i32 = f64", "kpt_to_i32(a)"),
    *lane("v_cvt_u32_f64", "u32 = f64", "kpt_to_u32(a)"),
    *lane("v_cvt_f64_f32", "f64 = f32", "(double)a"),
    *lane("v_cvt_f32_f64", "f32 = f64", "(float)a"),
    *lane("v_cvt_f16_f32", "h16 = f32", "kpt_f32_to_half_in_mode(a, mode)"),
    *lane("v_cvt_f32_f16", "f32 = f16", "a"),
    *lane("v_cvt_f16_u16", "f16 = u16", "(float)a"),
    *lane("v_cvt_f16_i16", "f16 = i16", "(float)a"),
    *lane("v_cvt_u16_f16", "u16 = f16", "kpt_to_u16(a)"),
    *lane("v_cvt_i16_f16", "i16 = f16", "kpt_to_i16(a)"),
    *(
        row
        for n in range(4)
        for row in lane(f"v_cvt_f32_ubyte{n}", "f32 = u32", f"(float)(int32_t)(a >> {8 * n} & 255u)")
    ),
    *lane("v_cvt_off_f32_i4", "f32 = u32", "(float)((int32_t)((a & 15u) ^ 8u) - 8) * 0.0625f"),
    *lane("v_cvt_pkrtz_f16_f32|v_cvt_pk_rtz_f16_f32", "u32 = f32 f32",
          "kpt_f32_to_half_rtz(a) | (uint32_t)kpt_f32_to_half_rtz(b) << 16"),
    *lane("v_cvt_pk_u16_u32", "u32 = u32 u32", "(a > 65535u ? 65535u : a) | (b > 65535u ? 65535u : b) << 16"),
    *lane("v_cvt_pk_i16_i32", "u32 = i32 i32",
          "((uint32_t)(a < -32768 ? -32768 : a > 32767 ? 32767 : a) & 0xffffu) |"
          " (uint32_t)(b < -32768 ? -32768 : b > 32767 ? 32767 : b) << 16"),
    *lane("v_cvt_pknorm_i16_f32|v_cvt_pk_norm_i16_f32", "u32 = f32 f32",
          "kpt_to_snorm(a) | (uint32_t)kpt_to_snorm(b) << 16"),
    *lane("v_cvt_pknorm_u16_f32|v_cvt_pk_norm_u16_f32", "u32 = f32 f32",
          "kpt_to_unorm(a) | (uint32_t)kpt_to_unorm(b) << 16"),
    *lane("v_cvt_pk_u8_f32", "u32 = f32 u32 u32",
          "uint32_t n = 8 * (b & 3), t = (uint32_t)(int32_t)kpt_rint_f32(a > 0.0f ? (a < 255.0f ? a : 255.0f) : 0.0f);"
          " d = (c & ~(255u << n)) | t << n"),
    *lane("v_cvt_pkaccum_u8_f32", "+u32 = f32 u32",
          "uint32_t n = 8 * (b & 3), t = (uint32_t)(int32_t)kpt_rint_f32(a > 0.0f ? (a < 255.0f ? a : 255.0f) : 0.0f);"
          " d = (d & ~(255u << n)) | t << n"),
)  # fmt: skip
