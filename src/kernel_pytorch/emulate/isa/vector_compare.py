"""Comparisons of every lane: v_cmp writes a mask, v_cmpx writes EXEC (and on gfx9 a mask too)."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, lane

_INTEGER = {
    "f": "0", "lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b", "ne": "a != b", "ge": "a >= b", "t": "1",
}  # fmt: skip
_FLOAT = {
    "f": "0", "lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b", "lg": "(a < b) | (a > b)", "ge": "a >= b",
    "o": "(a == a) & (b == b)", "u": "(a != a) | (b != b)", "nge": "!(a >= b)", "nlg": "!((a < b) | (a > b))",
    "ngt": "!(a > b)", "nle": "!(a <= b)", "neq": "!(a == b)", "nlt": "!(a < b)", "tru": "1", "t": "1",
}  # fmt: skip


def _both(relation: str, kind: str, sources: str, body: str) -> tuple[Row, ...]:
    return (
        *lane(f"v_cmp_{relation}_{kind}", f"mask = {sources}", body),
        *lane(f"v_cmpx_{relation}_{kind}", f"mask = {sources}", body, writes_exec=True),
    )


ROWS: tuple[Row, ...] = (
    *(
        row
        for kind in ("i16", "u16", "i32", "u32", "i64", "u64")
        for relation, body in _INTEGER.items()
        for row in _both(relation, kind, f"{kind} {kind}", body)
    ),
    *(
        row
        for kind in ("f16", "f32", "f64")
        for relation, body in _FLOAT.items()
        for row in _both(relation, kind, f"{kind} {kind}", body)
    ),
    *_both("class", "f32", "f32 u32", "kpt_class_f32(a, b)"),
    *_both("class", "f64", "f64 u32", "kpt_class_f64(a, b)"),
    *_both("class", "f16", "h16 u32", "kpt_class_half(a, b)"),
)
