"""Double-precision instructions of every lane."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

ROWS: tuple[Row, ...] = (
    *lane("v_add_f64", "f64 = f64 f64", "a + b"),
    *lane("v_mul_f64", "f64 = f64 f64", "a * b"),
    *lane("v_fma_f64", "f64 = f64 f64 f64", "__builtin_fma(a, b, c)"),
    *lane("v_fmac_f64", "+f64 = f64 f64", "__builtin_fma(a, b, d)"),
    *lane("v_fmaak_f64|v_fmamk_f64", "f64 = f64 f64 f64", "__builtin_fma(a, b, c)"),
    *lane("v_min_f64|v_min_num_f64", "f64 = f64 f64", "kpt_min_f64(a, b)"),
    *lane("v_max_f64|v_max_num_f64", "f64 = f64 f64", "kpt_max_f64(a, b)"),
    *lane("v_minimum_f64", "f64 = f64 f64", "kpt_minimum_f64(a, b)"),
    *lane("v_maximum_f64", "f64 = f64 f64", "kpt_maximum_f64(a, b)"),
    *lane("v_rcp_f64", "f64 = f64", "1.0 / a"),
    *lane("v_rsq_f64", "f64 = f64", "1.0 / __builtin_sqrt(a)"),
    *lane("v_sqrt_f64", "f64 = f64", "__builtin_sqrt(a)"),
    *lane("v_floor_f64", "f64 = f64", "__builtin_floor(a)"),
    *lane("v_ceil_f64", "f64 = f64", "__builtin_ceil(a)"),
    *lane("v_trunc_f64", "f64 = f64", "__builtin_trunc(a)"),
    *lane("v_rndne_f64", "f64 = f64", "kpt_mode_changes ? __builtin_roundeven(a) : __builtin_rint(a)"),
    *lane("v_fract_f64", "f64 = f64", "kpt_fract_f64(a)"),
    *lane("v_frexp_exp_i32_f64", "i32 = f64", "kpt_frexp_exp_f64(a)"),
    *lane("v_frexp_mant_f64", "f64 = f64", "kpt_frexp_mant_f64(a)"),
    *lane("v_ldexp_f64", "f64 = f64 i32", "kpt_ldexp_f64(a, b)"),
)
