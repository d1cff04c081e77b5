"""Arithmetic of bfloat16 on gfx1250, alone and in pairs (native/bfloat.h)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

_ONLY = ("gfx1250",)
_SELECTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
_MIX = "kpt_fma_mix_bf16(a, b, c, {op_sel_hi:0}, {op_sel}, {abs}, {neg})"


def _sources(count: int) -> str:
    """x, y and z: the halves of each source as op_sel and the signs say."""
    text = ""
    for at, (name, given) in enumerate(zip("xyz"[:count], "abc", strict=False)):
        text += (
            f"uint32_t {name} = kpt_packed_source({given}, {at}, {{op_sel}}, {{op_sel_hi}}, {{neg_lo}}, {{neg_hi}}); "
        )
    return text


def _pair(name: str, count: int, each: str) -> tuple[Row, ...]:
    """`each` is an expression of float X, Y and Z, exact or rounded to bfloat16 once."""
    halves = []
    for half in ("low", "high"):
        expression = each
        for given in "XYZ"[:count]:
            expression = expression.replace(given, f"kpt_bf16_{half}({given.lower()})")
        halves.append(expression)
    body = f"{_sources(count)}d = (uint32_t){halves[0]} | (uint32_t){halves[1]} << 16"
    return lane(name, f"u32 = {' '.join(['u32'] * count)}", body, modifiers=_SELECTS, families=_ONLY)


ROWS: tuple[Row, ...] = (
    *_pair("v_pk_add_bf16", 2, "kpt_f32_to_bf16(X + Y)"),
    *_pair("v_pk_mul_bf16", 2, "kpt_f32_to_bf16(X * Y)"),
    *_pair("v_pk_fma_bf16", 3, "kpt_fma_bf16(X, Y, Z)"),
    *_pair("v_pk_min_num_bf16", 2, "kpt_f32_to_bf16(kpt_min_f32(X, Y))"),
    *_pair("v_pk_max_num_bf16", 2, "kpt_f32_to_bf16(kpt_max_f32(X, Y))"),
    *lane("v_fma_mix_f32_bf16", "f32 = u32 u32 u32", _MIX, modifiers=("op_sel", "op_sel_hi"), families=_ONLY),
    *lane(
        "v_fma_mixlo_bf16",
        "+u32 = u32 u32 u32",
        f"(d & 0xffff0000u) | kpt_f32_to_bf16({_MIX})",
        modifiers=("op_sel", "op_sel_hi"),
        families=_ONLY,
    ),
    *lane(
        "v_fma_mixhi_bf16",
        "+u32 = u32 u32 u32",
        f"(d & 0xffffu) | (uint32_t)kpt_f32_to_bf16({_MIX}) << 16",
        modifiers=("op_sel", "op_sel_hi"),
        families=_ONLY,
    ),
)
