"""MFMA and SMFMAC: matrix multiply-add on a wave of 64 (native/matrix.h)."""

from __future__ import annotations

from kernel_pytorch.core import hardware
from kernel_pytorch.emulate.isa.row import Row, wave
from kernel_pytorch.emulate.isa.small_floats import FNUZ_TARGETS

_BITS = {"f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}


def _mfma(
    m: int, depth: int, kinds: str, blocks: int, names: str, variant: str = "", families: tuple[str, ...] = ()
) -> tuple[Row, ...]:
    """A shape: rows, depth, element types ("fp8_bf8" for two), blocks, its names, and the variant of its function."""
    element = kinds.split("_")[0]
    sources = depth * m * blocks * _BITS[element] // (64 * 32)
    results = m * m * blocks // 64
    several = f"_{blocks}b" if blocks > 1 else ""
    function = f"kpt_mfma_{m}x{m}x{depth}{several}_{kinds}{variant}"
    if m == 4 and element == "i8":
        function = "kpt_mfma_i32_4x4"
    return wave(
        names,
        f"v{results} = v{sources} v{sources} v{results}",
        f"{function}(d, a, b, c, {{cbsz}}, {{abid}}, {{blgp}});",
        counts_as="matrix",
        modifiers=("cbsz", "abid", "blgp"),
        families=families,
    )


# Families whose assembler has names with the number of blocks: those with products of 8-bit floats.
_NEW_NAMES = tuple(one.name for one in hardware.targets("amd") if one.matrix == "mfma" and one.fp8_format)


def _names(m: int, depth: int, kinds: str, blocks: int) -> str:
    """The name of gfx942 and later, and the one gfx90a's assembler uses."""
    result = "i32" if kinds == "i8" else "f32"
    several = f"_{blocks}b" if blocks > 1 else ""
    return f"v_mfma_{result}_{m}x{m}x{depth}{several}_{kinds}|v_mfma_{result}_{m}x{m}x{depth}{kinds}"


def _dense() -> tuple[Row, ...]:
    rows: list[Row] = []
    for m, depth, blocks in ((32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)):
        rows += _mfma(m, depth, "f32", blocks, _names(m, depth, "f32", blocks))
    for m, depth in ((16, 8), (32, 4)):
        rows += _mfma(m, depth, "xf32", 1, f"v_mfma_f32_{m}x{m}x{depth}_xf32|v_mfma_f32_{m}x{m}x{depth}xf32")
    for m, depth, blocks in ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)):
        for kind, old in (("f16", "f16"), ("bf16", "bf16_1k")):
            several = f"_{blocks}b" if blocks > 1 else ""
            rows += _mfma(m, depth, kind, blocks, f"v_mfma_f32_{m}x{m}x{depth}{old}", "_flushed", ("gfx90a",))
            names = f"v_mfma_f32_{m}x{m}x{depth}{several}_{kind}|v_mfma_f32_{m}x{m}x{depth}{old}"
            rows += _mfma(m, depth, kind, blocks, names)
        # A second spelling; on gfx90a two of these names are other instructions.
        rows += _mfma(m, depth, "bf16", blocks, f"v_mfma_f32_{m}x{m}x{depth}bf16", families=_NEW_NAMES)
    for m, depth, blocks in ((32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)):
        rows += _mfma(m, depth, "bf16", blocks, f"v_mfma_f32_{m}x{m}x{depth}bf16", "_flushed", ("gfx90a",))
        rows += _mfma(m, depth, "bf16", blocks, f"v_mfma_f32_{m}x{m}x{depth}bf16", families=("gfx908",))
    for kind in ("f16", "bf16"):
        for m, depth in ((16, 32), (32, 16)):
            rows += _mfma(m, depth, kind, 1, _names(m, depth, kind, 1))
    for m, depth, blocks in ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 16, 1), (16, 32, 1)):
        rows += _mfma(m, depth, "i8", blocks, _names(m, depth, "i8", blocks))
    for m, depth in ((32, 8), (16, 16)):  # gfx90a only
        rows += _mfma(m, depth, "i8", 1, f"v_mfma_i32_{m}x{m}x{depth}i8")
    for m, depth in ((16, 64), (32, 32)):
        rows += _mfma(m, depth, "i8", 1, _names(m, depth, "i8", 1))
    for left in ("fp8", "bf8"):
        for right in ("fp8", "bf8"):
            for m, depth in ((16, 32), (32, 16)):
                name = f"v_mfma_f32_{m}x{m}x{depth}_{left}_{right}"
                rows += _mfma(m, depth, f"{left}_{right}", 1, name, "_fnuz", FNUZ_TARGETS)
                rows += _mfma(m, depth, f"{left}_{right}", 1, name)
    return tuple(rows)


def _sparse() -> tuple[Row, ...]:
    rows: list[Row] = []
    halves = tuple(
        (m, depth, kind) for kind in ("f16", "bf16") for m, depth in ((16, 32), (32, 16), (16, 64), (32, 32))
    )
    bytes_ = tuple(
        (m, depth, kind)
        for kind in ("i8", *(f"{left}_{right}" for left in ("fp8", "bf8") for right in ("fp8", "bf8")))
        for m, depth in ((16, 64), (32, 32), (16, 128), (32, 64))
    )
    for m, depth, kind in halves + bytes_:
        stored = depth * m * _BITS[kind.split("_")[0]] // (128 * 32)
        result = "i32" if kind == "i8" else "f32"
        fnuz = kind[:2] in ("fp", "bf") and "_" in kind and (m, depth) in ((16, 64), (32, 32))
        for variant, families in (("_fnuz", FNUZ_TARGETS), ("", ())) if fnuz else (("", ()),):
            rows += wave(
                f"v_smfmac_{result}_{m}x{m}x{depth}_{kind}",
                f"+v{m * m // 64} = v{stored} v{2 * stored} v1",
                f"kpt_smfmac_{m}x{m}x{depth}_{kind}{variant}(d, a, b, c, {{cbsz}}, {{abid}});",
                counts_as="matrix",
                modifiers=("cbsz", "abid"),
                families=families,
            )
    return tuple(rows)


def _any_small_float() -> tuple[Row, ...]:
    """gfx950's shapes for all formats of 8, 6 and 4 bits: cbsz says A's, blgp B's (up to 8 registers of each)."""
    rows: list[Row] = []
    for m, depth in ((16, 128), (32, 64)):
        results = m * m // 64
        rows += wave(
            f"v_mfma_f32_{m}x{m}x{depth}_f8f6f4",
            f"v{results} = v8 v8 v{results}",
            f"kpt_mfma_{m}x{m}x{depth}_f8f6f4(d, a, b, c, {{cbsz}}, {{blgp}});",
            counts_as="matrix",
            modifiers=("cbsz", "blgp"),
        )
        bytes_ = ", ".join(f"({{op_sel}} >> {i} & 1u) + 2u * ({{op_sel_hi}} >> {i} & 1u)" for i in range(2))
        rows += wave(
            f"v_mfma_scale_f32_{m}x{m}x{depth}_f8f6f4",
            f"v{results} = v8 v8 v{results} v1 v1",
            f"kpt_mfma_scaled(d, a, b, c, f, g, {m}, {{cbsz}}, {{blgp}}, {bytes_});",
            counts_as="matrix",
            modifiers=("cbsz", "blgp", "op_sel", "op_sel_hi"),
        )
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *_dense(),
    *_sparse(),
    *_any_small_float(),
    *wave(
        "v_mfma_f64_16x16x4_f64|v_mfma_f64_16x16x4f64",
        "v8 = v2 v2 v8",
        "kpt_mfma_f64_16x16x4(d, a, b, c, {neg});",
        counts_as="matrix",
        modifiers=("cbsz", "abid", "blgp", "neg"),
    ),
    *wave(
        "v_mfma_f64_4x4x4_4b_f64|v_mfma_f64_4x4x4f64",
        "v2 = v2 v2 v2",
        "kpt_mfma_f64_4x4x4(d, a, b, c, {cbsz}, {abid}, {neg});",
        counts_as="matrix",
        modifiers=("cbsz", "abid", "blgp", "neg"),
    ),
)
