"""Scalar floating point of gfx11.5 and gfx12."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, scalar

_RELATIONS = {
    "lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b", "lg": "a < b || a > b", "ge": "a >= b",
    "o": "a == a && b == b", "u": "a != a || b != b", "nge": "!(a >= b)", "nlg": "!(a < b || a > b)",
    "ngt": "!(a > b)", "nle": "!(a <= b)", "neq": "!(a == b)", "nlt": "!(a < b)",
}  # fmt: skip

ROWS: tuple[Row, ...] = (
    *(
        row
        for name, body in (("add", "a + b"), ("sub", "a - b"), ("mul", "a * b"))
        for kind in ("f32", "f16")
        for row in scalar(f"s_{name}_{kind}", f"{kind} = {kind} {kind}", body)
    ),
    *(
        row
        for name, function in (("min|s_min_num", "min"), ("max|s_max_num", "max"))
        for kind in ("f32", "f16")
        for row in scalar(
            "|".join(f"{'' if part.startswith('s_') else 's_'}{part}_{kind}" for part in name.split("|")),
            f"{kind} = {kind} {kind}",
            f"kpt_{function}_f32(a, b)",
        )
    ),
    *scalar("s_minimum_f32", "f32 = f32 f32", "kpt_minimum_f32(a, b)"),
    *scalar("s_maximum_f32", "f32 = f32 f32", "kpt_maximum_f32(a, b)"),
    *scalar("s_minimum_f16", "f16 = f16 f16", "kpt_minimum_f32(a, b)"),
    *scalar("s_maximum_f16", "f16 = f16 f16", "kpt_maximum_f32(a, b)"),
    *scalar("s_fmac_f32", "+f32 = f32 f32", "__builtin_fmaf(a, b, d)"),
    *scalar("s_fmaak_f32", "f32 = f32 f32 f32", "__builtin_fmaf(a, b, c)"),
    *scalar("s_fmamk_f32", "f32 = f32 f32 f32", "__builtin_fmaf(a, b, c)"),
    *scalar("s_fmac_f16", "+h16 = f16 f16", "kpt_fma_half(a, b, kpt_half_to_f32(d))"),
    *scalar("s_cvt_f32_i32", "f32 = i32", "(float)a"),
    *scalar("s_cvt_f32_u32", "f32 = u32", "(float)a"),
    *scalar("s_cvt_i32_f32", "i32 = f32", "kpt_f32_to_i32(a)"),
    *scalar("s_cvt_u32_f32", "u32 = f32", "kpt_f32_to_u32(a)"),
    *scalar("s_cvt_f16_f32", "h16 = f32", "kpt_f32_to_half(a)"),
    *scalar("s_cvt_f32_f16", "f32 = f16", "a"),
    *scalar("s_cvt_hi_f32_f16", "f32 = u32", "kpt_half_to_f32((uint16_t)(a >> 16))"),
    *scalar("s_cvt_pk_rtz_f16_f32", "u32 = f32 f32", "kpt_f32_to_half_rtz(a) | (uint32_t)kpt_f32_to_half_rtz(b) << 16"),
    *scalar("s_ceil_f32", "f32 = f32", "__builtin_ceilf(a)"),
    *scalar("s_floor_f32", "f32 = f32", "__builtin_floorf(a)"),
    *scalar("s_trunc_f32", "f32 = f32", "__builtin_truncf(a)"),
    *scalar("s_rndne_f32", "f32 = f32", "__builtin_roundevenf(a)"),
    *scalar("s_ceil_f16", "f16 = f16", "__builtin_ceilf(a)"),
    *scalar("s_floor_f16", "f16 = f16", "__builtin_floorf(a)"),
    *scalar("s_trunc_f16", "f16 = f16", "__builtin_truncf(a)"),
    *scalar("s_rndne_f16", "f16 = f16", "__builtin_roundevenf(a)"),
    *(
        row
        for relation, body in _RELATIONS.items()
        for kind in ("f32", "f16")
        for row in scalar(f"s_cmp_{relation}_{kind}", f"= {kind} {kind}", f"scc = {body};")
    ),
)
