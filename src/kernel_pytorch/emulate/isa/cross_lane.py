"""Permutations of lanes within and between rows (native/cross_lane.h)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, wave

ROWS: tuple[Row, ...] = (
    *wave(
        "v_permlane16_b32",
        "+v1 = v1 u32 u32",
        "kpt_permlane_fixed(d, a, b, c, 0, {op_sel}, ex);",
        modifiers=("op_sel",),
    ),
    *wave(
        "v_permlanex16_b32",
        "+v1 = v1 u32 u32",
        "kpt_permlane_fixed(d, a, b, c, 1, {op_sel}, ex);",
        modifiers=("op_sel",),
    ),
    *wave("v_permlane16_var_b32", "+v1 = v1 v1", "kpt_permlane(d, a, b, 0, {op_sel}, ex);", modifiers=("op_sel",)),
    *wave("v_permlanex16_var_b32", "+v1 = v1 v1", "kpt_permlane(d, a, b, 1, {op_sel}, ex);", modifiers=("op_sel",)),
    *(
        row
        for name, bits, words in (("b64_tr_b16", 16, 2), ("b64_tr_b8", 8, 2), ("b64_tr_b4", 4, 2), ("b96_tr_b6", 6, 3))
        for row in wave(
            f"ds_read_{name}",
            f"+v{words} = v1",
            f"kpt_lds_transposed(w, d, a, {{offset}}, {bits}, ex);",
            modifiers=("offset",),
            counts_as="lds",
            families=("gfx950",),
        )
    ),
    *(
        row
        for bits, words in ((16, 4), (8, 2))
        for row in wave(
            f"ds_load_tr{bits}_b{32 * words}",
            f"+v{words} = v1",
            f"kpt_lds_eight_by_eight(w, d, a, {{offset}}, {bits}, ex);",
            modifiers=("offset",),
            counts_as="lds",
            families=("gfx1250",),
        )
    ),
    *wave("v_permlane64_b32", "+v1 = v1", "kpt_permlane64(d, a, ex);"),
    *wave("v_permlane16_swap_b32", "+v1 +v1 =", "kpt_permlane_swap(d, e, 16, ex);", modifiers=("bound_ctrl", "fi")),
    *wave("v_permlane32_swap_b32", "+v1 +v1 =", "kpt_permlane_swap(d, e, 32, ex);", modifiers=("bound_ctrl", "fi")),
)
