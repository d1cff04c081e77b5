"""Instructions that gfx1250 adds: sums with limits, conversions of eight numbers, copies between memory and LDS."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane, memory, wave

_ONLY = ("gfx1250",)
_SMALL = {"fp8": ("kpt_fp8_ocp", 2), "bf8": ("kpt_bf8_ocp", 2), "fp4": ("kpt_fp4", 1)}
_WIDE = {"f32": ("KPT_AS_F32", 8), "f16": ("KPT_AS_F16", 4), "bf16": ("KPT_AS_BF16", 4)}


def _limited_sums() -> tuple[Row, ...]:
    rows: list[Row] = []
    for kind in ("i32", "u32"):
        for name, sign in (("min", "<"), ("max", ">")):
            total = f"{'int32_t' if kind == 'i32' else 'uint32_t'} s = ({'int32_t' if kind == 'i32' else 'uint32_t'})"
            body = f"{total}((uint32_t)a + (uint32_t)b); d = s {sign} c ? s : c"
            rows += lane(f"v_add_{name}_{kind}", f"{kind} = {kind} {kind} {kind}", body, families=_ONLY)
    for kind in ("i16", "u16"):
        c_type = "int16_t" if kind == "i16" else "uint16_t"
        for name, sign in (("min", "<"), ("max", ">")):
            body = f"{c_type} s = ({c_type})((uint32_t)a + (uint32_t)b); d = s {sign} c ? s : c"
            rows += lane(f"v_pk_add_{name}_{kind}", f"{kind} = {kind} {kind} {kind}", body, packed=2, families=_ONLY)
            body = f"{c_type} s = a {sign} b ? a : b; d = s {sign} c ? s : c"
            rows += lane(f"v_pk_{name}3_{kind}", f"{kind} = {kind} {kind} {kind}", body, packed=2, families=_ONLY)
    for name in ("min", "max"):
        body = f"kpt_{name}_f32(kpt_{name}_f32(a, b), c)"
        rows += lane(f"v_pk_{name}3_num_f16", "f16 = f16 f16 f16", body, packed=2, families=_ONLY)
    return tuple(rows)


def _eight_numbers() -> tuple[Row, ...]:
    """A scale that lanes have each for themselves is refused: sources differ on which lane's byte counts."""
    rows: list[Row] = []
    for small, (f, packed) in _SMALL.items():
        for wide, (kind, words) in _WIDE.items():
            rows += wave(
                f"v_cvt_scalef32_pk8_{small}_{wide}",
                f"v{packed} = v{words} f32",
                f"kpt_narrow_8(w, d, a, kpt_scale_power(b), ex, {f}, {kind});",
                families=_ONLY,
            )
            rows += wave(
                f"v_cvt_scale_pk8_{wide}_{small}",
                f"v{words} = v{packed} u32",
                f"kpt_widen_8(d, a, b & 255u, ex, {f}, {kind});",
                families=_ONLY,
            )
    return tuple(rows)


def _async_copies() -> tuple[Row, ...]:
    """Done at once here; `s_wait_asynccnt` has nothing to wait for."""
    rows: list[Row] = []
    for name, kind in (("b8", "U8"), ("b32", "W1"), ("b64", "W2"), ("b128", "W4")):
        rows += memory(f"global_load_async_to_lds_{name}", space="GLOBAL", action="copy_to_lds", moves=kind)
        rows += memory(f"global_store_async_from_lds_{name}", space="GLOBAL", action="copy_from_lds", moves=kind)
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *memory("tensor_load_to_lds", space="TENSOR", action="copy_to_lds"),
    *memory("tensor_store_from_lds", space="TENSOR", action="copy_from_lds"),
    *_limited_sums(),
    *_eight_numbers(),
    *_async_copies(),
    # Only as half of a pair of instructions: v_bitop3 with a third source of zero.
    *lane("v_bitop2_b32", "u32 = u32 u32", "kpt_bitop3(a, b, 0, {bitop3})", modifiers=("bitop3",), families=_ONLY),
)
