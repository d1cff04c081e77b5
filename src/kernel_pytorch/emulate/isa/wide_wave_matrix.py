"""WMMA of gfx1250: 16 x 16 results of depths 4 to 128, with scales (native/wide_wave_matrix.h).

Where a lane's elements lie is from Triton's layouts (AMDWmmaEncodingAttr, version 3). Signs of A and B are refused:
nothing public says what they do here. So are sparse matrices, factors of 6 bits and scales that are no powers of two.
"""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, wave

_ONLY = ("gfx1250",)
_PAIRS = tuple((left, right) for left in ("fp8", "bf8") for right in ("fp8", "bf8"))
_SIGNS_OF_C = ("neg_lo[2]", "neg_hi[2]")
_REUSE = ("matrix_a_reuse", "matrix_b_reuse")  # a hint for the hardware
_FORMATS = ("matrix_a_fmt", "matrix_b_fmt")
_SCALES = ("matrix_a_scale", "matrix_b_scale")


def _matrix(name: str, types: str, body: str, *modifiers: str) -> tuple[Row, ...]:
    return wave(name, types, body, modifiers=(*_REUSE, *modifiers), counts_as="matrix", families=_ONLY)


def _code(kind: str) -> str:
    return f"KPT_WW_{kind.upper()}"


def _dense() -> tuple[Row, ...]:
    rows: list[Row] = []
    signs = "{neg_lo}, {neg_hi}"
    shapes = [("f32", "f32", 4, 2, 2), *((kind, kind, 32, 8, 8) for kind in ("f16", "bf16"))]
    shapes += [(*pair, depth, 8, depth // 8) for pair in _PAIRS for depth in (64, 128)]
    for left, right, depth, run, width in shapes:
        kinds = left if left == right and left in ("f32", "f16", "bf16") else f"{left}_{right}"
        rows += _matrix(
            f"v_wmma_f32_16x16x{depth}_{kinds}",
            f"v8 = v{width} v{width} v8",
            f"kpt_ww_f32(d, a, b, c, {_code(left)}, {_code(right)}, {depth}, {run}, {signs});",
            *_SIGNS_OF_C,
        )
        if left == "f32":
            continue
        result = left if left in ("f16", "bf16") else "f16"
        rows += _matrix(
            f"v_wmma_{result}_16x16x{depth}_{kinds}",
            f"+v4 = v{width} v{width} v4",
            f"kpt_ww_half(d, a, b, c, KPT_WM_{result.upper()}, {_code(left)}, {_code(right)}, {depth}, {signs});",
            *_SIGNS_OF_C,
        )
    rows += _matrix(
        "v_wmma_bf16f32_16x16x32_bf16", "v4 = v8 v8 v8", f"kpt_ww_bf16f32(d, a, b, c, {signs});", *_SIGNS_OF_C
    )
    rows += _matrix(
        "v_wmma_i32_16x16x64_iu8", "v8 = v8 v8 v8", "kpt_ww_i32(d, a, b, c, 64, {neg_lo}, {clamp});", "neg_lo", "clamp"
    )
    return tuple(rows)


def _narrow() -> tuple[Row, ...]:
    """Factors of 8, 6 or 4 bits, as the modifiers say; `scale16` has a scale for every 16 elements instead of 32."""
    rows: list[Row] = []
    for prefix, block, words in (("", 32, 0), ("scale_", 32, 1), ("scale16_", 16, 2)):
        scales = f" v{words} v{words}" if words else ""
        given = "f, g, {matrix_a_scale}, {matrix_b_scale}" if words else "0, 0, 0, 0"
        extra = _SCALES if words else ()
        formats = "{matrix_a_fmt}, {matrix_b_fmt}"
        rows += _matrix(
            f"v_wmma_{prefix}f32_16x16x128_f8f6f4",
            f"v8 = v16 v16 v8{scales}",
            f"kpt_ww_narrow(d, a, b, c, 16, {formats}, {given}, {block}, {{neg_lo}}, {{neg_hi}});",
            *_FORMATS,
            *_SIGNS_OF_C,
            *extra,
        )
        rows += _matrix(
            f"v_wmma_{prefix}f32_32x16x128_f4",
            f"v16 = v16 v8 v16{scales}",
            f"kpt_ww_narrow(d, a, b, c, 32, 4, 4, {given}, {block}, {{neg_lo}}, {{neg_hi}});",
            *_SIGNS_OF_C,
            *extra,
        )
    return tuple(rows)


ROWS: tuple[Row, ...] = (*_dense(), *_narrow())
