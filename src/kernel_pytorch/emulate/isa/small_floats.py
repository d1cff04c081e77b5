"""Conversions of 8-bit and 4-bit floats, and of bfloat16 (native/small_floats.h)."""

from __future__ import annotations

from kernel_pytorch.core.hardware import targets
from kernel_pytorch.emulate.isa.row import Row, lane

FNUZ_TARGETS = tuple(row.name for row in targets("amd") if row.fp8_format == "e4m3fnuz")


def _for_both(names: str, types: str, body: str, **extra: object) -> tuple[Row, ...]:
    """Rows for MI300's FNUZ formats and everybody else's OCP formats; `@fp8` and `@bf8` in the body are the format."""
    rows: list[Row] = []
    for suffix, families in (("_fnuz", FNUZ_TARGETS), ("_ocp", ())):
        filled = body.replace("@fp8", f"kpt_fp8{suffix}").replace("@bf8", f"kpt_bf8{suffix}")
        rows += lane(names, types, filled, families=families, **extra)
    return tuple(rows)


def _eight_bits() -> tuple[Row, ...]:
    rows: list[Row] = []
    for kind in ("fp8", "bf8"):
        # An SDWA select has put the chosen byte or word at the bottom; byte_sel and op_sel have not.
        rows += _for_both(
            f"v_cvt_f32_{kind}",
            "f32 = u32",
            f"kpt_small_wide(@{kind}, a, 8u * ({{byte_sel}} + 2u * ({{op_sel}} & 1u) + ({{op_sel}} >> 1 & 1u)))",
            modifiers=("byte_sel", "op_sel"),
        )
        pair = f"(uint64_t)kpt_u32(kpt_small_wide(@{kind}, a, at + 8u)) << 32 | kpt_u32(kpt_small_wide(@{kind}, a, at))"
        rows += _for_both(
            f"v_cvt_pk_f32_{kind}",
            "u64 = u32",
            f"uint32_t at = 16u * ({{op_sel}} & 1u); d = {pair}",
            modifiers=("op_sel",),
        )
        rounded = "kpt_small_round(@{kind}, {x}, 0, KPT_FP16_OVFL, 0, 0)"
        low, high = rounded.format(kind=kind, x="a"), rounded.format(kind=kind, x="b")
        rows += _for_both(
            f"v_cvt_pk_{kind}_f32",
            "+u32 = f32 f32",
            f"kpt_insert(d, {low} | {high} << 8, 16, {{op_sel}} >> 2 & 1u)",
            modifiers=("op_sel",),
            alone=True,
        )
        rows += _for_both(
            f"v_cvt_sr_{kind}_f32",
            "+u32 = f32 u32",
            f"kpt_insert(d, kpt_small_round(@{kind}, a, 0, KPT_FP16_OVFL, 1, b), 8, "
            "{byte_sel} + ({op_sel} >> 2 & 3u))",
            modifiers=("byte_sel", "op_sel"),
            alone=True,
        )
    return tuple(rows)


_WIDE = {"f32": "kpt_f32({})", "f16": "kpt_half_to_f32((uint16_t)({}))", "bf16": "kpt_bf16_to_f32(({}) & 0xffffu)"}
_PACK = {"f16": "(uint32_t)kpt_f32_to_half({})", "bf16": "(uint32_t)kpt_f32_to_bf16({})"}
_FORMATS = {"fp8": "kpt_fp8_ocp", "bf8": "kpt_bf8_ocp", "fp4": "kpt_fp4"}


def _scaled() -> tuple[Row, ...]:
    """gfx950's conversions with a scale, of which only the exponent counts."""
    rows: list[Row] = []
    for kind, name in _FORMATS.items():
        bits = 4 if kind == "fp4" else 8
        position = "({op_sel} >> 2 & 3u)" if kind == "fp4" else "({op_sel} >> 3 & 1u)"
        start = "8u * ({op_sel} & 3u)" if kind == "fp4" else "16u * ({op_sel} & 1u)"
        narrow = f"kpt_small_round({name}, {{}}, power, KPT_FP16_OVFL, 0, 0)"
        for wide in ("f32", "f16", "bf16"):
            first, second = ("a", "b") if wide == "f32" else (_WIDE[wide].format("a"), _WIDE[wide].format("a >> 16"))
            scale = "c" if wide == "f32" else "b"
            rows += lane(
                f"v_cvt_scalef32_pk_{kind}_{wide}",
                "+u32 = f32 f32 f32" if wide == "f32" else "+u32 = u32 f32",
                f"const int power = kpt_scale_power({scale}); "
                f"d = kpt_insert(d, {narrow.format(first)} | {narrow.format(second)} << {bits}, "
                f"{2 * bits}, {position})",
                modifiers=("op_sel",),
                alone=True,
                families=("gfx950",),
            )
            scaled = f"kpt_small_to_f32_scaled({name}, a >> (at + {{}}u) & {(1 << bits) - 1}u, power)"
            low, high = scaled.format(0), scaled.format(bits)
            prologue = f"const int power = kpt_scale_power(b); const uint32_t at = {start}; "
            if wide == "f32":
                result, body = "u64", f"d = (uint64_t)kpt_u32({high}) << 32 | kpt_u32({low})"
            else:
                result, body = "u32", f"d = {_PACK[wide].format(high)} << 16 | {_PACK[wide].format(low)}"
            rows += lane(
                f"v_cvt_scalef32_pk_{wide}_{kind}",
                f"{result} = u32 f32",
                prologue + body,
                modifiers=("op_sel",),
                families=("gfx950",),
            )
    for kind in ("fp8", "bf8"):
        value = f"kpt_small_to_f32_scaled({_FORMATS[kind]}, a >> 8u * ({{op_sel}} & 3u) & 255u, kpt_scale_power(b))"
        rows += lane(f"v_cvt_scalef32_f32_{kind}", "f32 = u32 f32", value, modifiers=("op_sel",), families=("gfx950",))
        rows += lane(
            f"v_cvt_scalef32_f16_{kind}",
            "+u32 = u32 f32",
            f"kpt_insert(d, kpt_f32_to_half({value}), 16, {{op_sel}} >> 3 & 1u)",
            modifiers=("op_sel",),
            families=("gfx950",),
        )
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *_eight_bits(),
    *_scaled(),
    *lane("v_cvt_pk_bf16_f32", "u32 = f32 f32", "kpt_f32_to_bf16(a) | (uint32_t)kpt_f32_to_bf16(b) << 16"),
    *lane("v_cvt_pk_f16_f32", "u32 = f32 f32", "kpt_f32_to_half(a) | (uint32_t)kpt_f32_to_half(b) << 16"),
    *lane("v_cvt_f32_bf16", "f32 = u16", "kpt_bf16_to_f32(a)"),
)
