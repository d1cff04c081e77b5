"""WMMA and SWMMAC: 16 x 16 matrix multiply-add on a wave of 32, gfx11 and gfx12 (native/wave_matrix.h)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, wave

_PAIRS = tuple((left, right) for left in ("fp8", "bf8") for right in ("fp8", "bf8"))
_NEG = ("neg_lo", "neg_hi")


def _dense(families: tuple[str, ...], doubled: int) -> tuple[Row, ...]:
    """`doubled`: gfx11's lanes hold whole rows, so its operands are twice as wide (and half results unpacked)."""
    halves, bytes_, nibbles, half_results = 4 * doubled, 2 * doubled, doubled, 4 * doubled
    rows: list[Row] = []
    for kind in ("f16", "bf16"):
        code = f"KPT_WM_{kind.upper()}"
        rows += wave(
            f"v_wmma_f32_16x16x16_{kind}",
            f"v8 = v{halves} v{halves} v8",
            f"kpt_wmma_f32(d, a, b, c, {code}, {code}, {{neg_lo}}, {{neg_hi}});",
            modifiers=_NEG,
            counts_as="matrix",
            families=families,
        )
        rows += wave(
            f"v_wmma_{kind}_16x16x16_{kind}",
            f"+v{half_results} = v{halves} v{halves} v{half_results}",
            f"kpt_wmma_half(d, a, b, c, {code}, {{op_sel}}, {{neg_lo}}, {{neg_hi}});",
            modifiers=(*_NEG, "op_sel"),
            counts_as="matrix",
            families=families,
        )
    for bits, width in ((8, bytes_), (4, nibbles)):
        rows += wave(
            f"v_wmma_i32_16x16x16_iu{bits}",
            f"v8 = v{width} v{width} v8",
            f"kpt_wmma_i32(d, a, b, c, {bits}, 16, {{neg_lo}}, {{clamp}});",
            modifiers=("neg_lo", "clamp"),
            counts_as="matrix",
            families=families,
        )
    return tuple(rows)


def _gfx12() -> tuple[Row, ...]:
    rows: list[Row] = []
    families = ("gfx12",)
    rows += wave(
        "v_wmma_i32_16x16x32_iu4",
        "v8 = v2 v2 v8",
        "kpt_wmma_i32(d, a, b, c, 4, 32, {neg_lo}, {clamp});",
        modifiers=("neg_lo", "clamp"),
        counts_as="matrix",
        families=families,
    )
    for left, right in _PAIRS:
        codes = f"KPT_WM_{left.upper()}, KPT_WM_{right.upper()}"
        rows += wave(
            f"v_wmma_f32_16x16x16_{left}_{right}",
            "v8 = v2 v2 v8",
            f"kpt_wmma_f32(d, a, b, c, {codes}, {{neg_lo}} & 4u, {{neg_hi}} & 4u);",
            modifiers=_NEG,
            counts_as="matrix",
            families=families,
        )
        rows += wave(
            f"v_swmmac_f32_16x16x32_{left}_{right}",
            "+v8 = v2 v4 v1",
            f"kpt_swmmac_f32(d, a, b, c, {codes}, {{index_key}}, 0, 0);",
            modifiers=("index_key",),
            counts_as="matrix",
            families=families,
        )
    for kind in ("f16", "bf16"):
        code = f"KPT_WM_{kind.upper()}"
        rows += wave(
            f"v_swmmac_f32_16x16x32_{kind}",
            "+v8 = v4 v8 v1",
            f"kpt_swmmac_f32(d, a, b, c, {code}, {code}, {{index_key}}, {{neg_lo}}, {{neg_hi}});",
            modifiers=(*_NEG, "index_key"),
            counts_as="matrix",
            families=families,
        )
        rows += wave(
            f"v_swmmac_{kind}_16x16x32_{kind}",
            "+v4 = v4 v8 v1",
            f"kpt_swmmac_half(d, a, b, c, {code}, {{index_key}}, {{neg_lo}}, {{neg_hi}});",
            modifiers=(*_NEG, "index_key"),
            counts_as="matrix",
            families=families,
        )
    for bits, depth, stored in ((8, 32, 2), (4, 32, 1), (4, 64, 2)):
        rows += wave(
            f"v_swmmac_i32_16x16x{depth}_iu{bits}",
            f"+v8 = v{stored} v{2 * stored} v1",
            f"kpt_swmmac_i32(d, a, b, c, {bits}, {depth}, {{index_key}}, {{neg_lo}}, {{clamp}});",
            modifiers=("neg_lo", "index_key", "clamp"),
            counts_as="matrix",
            families=families,
        )
    return tuple(rows)


ROWS: tuple[Row, ...] = (*_dense(("gfx11",), 2), *_dense(("gfx12",), 1), *_gfx12())
