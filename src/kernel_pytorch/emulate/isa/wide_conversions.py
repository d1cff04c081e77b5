"""gfx950's conversions with a scale that round at random or fill many registers (native/wide_conversions.h)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane, wave

_SIX_BITS = {"fp6": "kpt_fp6", "bf6": "kpt_bf6"}
_WIDE = {"f32": ("KPT_AS_F32", 32), "f16": ("KPT_AS_F16", 16), "bf16": ("KPT_AS_BF16", 16)}
_HALVES = {"f16": "kpt_half_to_f32((uint16_t)({}))", "bf16": "kpt_bf16_to_f32(({}) & 0xffffu)"}
_ONLY = ("gfx950",)


def _many() -> tuple[Row, ...]:
    rows: list[Row] = []
    for small, f in _SIX_BITS.items():
        for wide, (kind, registers) in _WIDE.items():
            rows += wave(
                f"v_cvt_scalef32_pk32_{wide}_{small}",
                f"v{registers} = v6 v1",
                f"kpt_widen_32(d, a, b, ex, {f}, {kind});",
                families=_ONLY,
            )
            rows += wave(
                f"v_cvt_scalef32_sr_pk32_{small}_{wide}",
                f"v6 = v{registers} v1 v1",
                f"kpt_narrow_32(w, d, a, b, c, ex, {f}, {kind});",
                families=_ONLY,
            )
            if wide != "f32":
                rows += wave(
                    f"v_cvt_scalef32_pk32_{small}_{wide}",
                    "v6 = v16 v1",
                    f"kpt_narrow_32(w, d, a, 0, b, ex, {f}, {kind});",
                    families=_ONLY,
                )
        rows += wave(
            f"v_cvt_scalef32_2xpk16_{small}_f32",
            "v6 = v16 v16 v1",
            f"kpt_narrow_two_16(w, d, a, b, c, ex, {f});",
            families=_ONLY,
        )
    return tuple(rows)


def _random() -> tuple[Row, ...]:
    rows: list[Row] = []
    rounded = "kpt_small_round({}, {}, power, KPT_FP16_OVFL, 1, {})"
    power = "const int power = kpt_scale_power(c); "
    extra: dict[str, object] = {"modifiers": ("op_sel",), "alone": True, "families": _ONLY}
    for small, f in (("fp8", "kpt_fp8_ocp"), ("bf8", "kpt_bf8_ocp")):
        for wide in ("f32", "f16", "bf16"):
            value = "a" if wide == "f32" else _HALVES[wide].format("a >> 16u * ({op_sel} & 1u)")
            rows += lane(
                f"v_cvt_scalef32_sr_{small}_{wide}",
                f"+u32 = {'f32' if wide == 'f32' else 'u32'} u32 f32",
                f"{power}d = kpt_insert(d, {rounded.format(f, value, 'b')}, 8, {{op_sel}} >> 2 & 3u)",
                **extra,
            )
    for wide in ("f32", "f16", "bf16"):
        low, high = ("kpt_f32((uint32_t)a)", "kpt_f32((uint32_t)(a >> 32))")
        if wide != "f32":
            low, high = _HALVES[wide].format("a"), _HALVES[wide].format("a >> 16")
        first, second = rounded.format("kpt_fp4", low, "b"), rounded.format("kpt_fp4", high, "kpt_next_random(b)")
        rows += lane(
            f"v_cvt_scalef32_sr_pk_fp4_{wide}",
            f"+u32 = {'u64' if wide == 'f32' else 'u32'} u32 f32",
            f"{power}d = kpt_insert(d, {first} | {second} << 4, 8, {{op_sel}} >> 2 & 3u)",
            **extra,
        )
    for wide in ("f16", "bf16"):
        rows += lane(
            f"v_cvt_sr_{wide}_f32",
            "+u32 = f32 u32",
            f"kpt_insert(d, kpt_small_round(kpt_as_{wide}, a, 0, KPT_FP16_OVFL, 1, b), 16, {{op_sel}} >> 2 & 1u)",
            **extra,
        )
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *_many(),
    *_random(),
    *wave("v_mqsad_u32_u8", "v4 = v2 v1 v4", "kpt_quad_sums(d, a, b, c, ex);"),
)
