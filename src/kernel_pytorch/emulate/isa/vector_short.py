"""16-bit integer instructions of every lane."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

ROWS: tuple[Row, ...] = (
    *lane("v_mov_b16", "u16 = u16", "a"),
    *lane("v_not_b16", "u16 = u16", "(uint16_t)~a"),
    *lane("v_and_b16", "u16 = u16 u16", "a & b"),
    *lane("v_or_b16", "u16 = u16 u16", "a | b"),
    *lane("v_xor_b16", "u16 = u16 u16", "a ^ b"),
    *lane("v_cndmask_b16", "u16 = u16 u16 mask", "c ? b : a"),
    *lane("v_add_u16|v_add_nc_u16", "u16 = u16 u16", "(uint16_t)(a + b)",
          saturated="(uint16_t)(a + b > 65535 ? 65535 : a + b)"),
    *lane("v_sub_u16|v_sub_nc_u16", "u16 = u16 u16", "(uint16_t)(a - b)", saturated="(uint16_t)(a < b ? 0 : a - b)"),
    *lane("v_subrev_u16", "u16 = u16 u16", "(uint16_t)(b - a)", saturated="(uint16_t)(b < a ? 0 : b - a)"),
    *lane("v_add_i16|v_add_nc_i16", "i16 = i16 i16", "(int16_t)(a + b)",
          saturated="(int16_t)(a + b > 32767 ? 32767 : a + b < -32768 ? -32768 : a + b)", keeps_high=True),
    *lane("v_sub_i16|v_sub_nc_i16", "i16 = i16 i16", "(int16_t)(a - b)",
          saturated="(int16_t)(a - b > 32767 ? 32767 : a - b < -32768 ? -32768 : a - b)", keeps_high=True),
    *lane("v_mul_lo_u16", "u16 = u16 u16", "(uint16_t)((uint32_t)a * b)"),
    *lane("v_mad_u16", "u16 = u16 u16 u16", "(uint16_t)((uint32_t)a * b + c)", keeps_high=True),
    *lane("v_mad_i16", "i16 = i16 i16 i16", "(int16_t)(a * b + c)", keeps_high=True),
    *lane("v_mad_legacy_u16", "u16 = u16 u16 u16", "(uint16_t)((uint32_t)a * b + c)"),
    *lane("v_mad_legacy_i16", "i16 = i16 i16 i16", "(int16_t)(a * b + c)"),
    *lane("v_mad_u32_u16", "u32 = u16 u16 u32", "(uint32_t)a * b + c"),
    *lane("v_mad_i32_i16", "u32 = i16 i16 u32", "(uint32_t)((int32_t)a * b) + c"),
    *lane("v_lshlrev_b16", "u16 = u16 u16", "(uint16_t)((uint32_t)b << (a & 15))"),
    *lane("v_lshrrev_b16", "u16 = u16 u16", "(uint16_t)(b >> (a & 15))"),
    *lane("v_ashrrev_i16", "i16 = u16 i16", "(int16_t)(b >> (a & 15))"),
    *(
        row
        for kind in ("u16", "i16")
        for row in (
            *lane(f"v_min_{kind}", f"{kind} = {kind} {kind}", "a < b ? a : b"),
            *lane(f"v_max_{kind}", f"{kind} = {kind} {kind}", "a > b ? a : b"),
            *lane(f"v_min3_{kind}", f"{kind} = {kind} {kind} {kind}", "a < b ? (a < c ? a : c) : (b < c ? b : c)",
                  keeps_high=True),
            *lane(f"v_max3_{kind}", f"{kind} = {kind} {kind} {kind}", "a > b ? (a > c ? a : c) : (b > c ? b : c)",
                  keeps_high=True),
            *lane(f"v_med3_{kind}", f"{kind} = {kind} {kind} {kind}", f"kpt_med3_{kind}(a, b, c)", keeps_high=True),
        )
    ),
    *lane("v_pack_b32_f16", "u32 = h16 h16", "a | (uint32_t)b << 16"),
    *lane("v_cvt_i32_i16", "i32 = i16", "a"),
    *lane("v_cvt_u32_u16", "u32 = u16", "a"),
    *lane("v_sat_pk_u8_i16", "u16 = u32", "int32_t s = (int16_t)a, t = (int16_t)(a >> 16);"
          " d = (uint16_t)((s < 0 ? 0 : s > 255 ? 255 : s) | (t < 0 ? 0 : t > 255 ? 255 : t) << 8)"),
    *lane("v_swap_b16", "+u16 +u16 =", "uint16_t t = d; d = e; e = t"),
)  # fmt: skip
