"""The compiler's division and the table's three instructions for it: the quotient is the correctly rounded one."""

from __future__ import annotations

import random

import numpy as np

from kernel_pytorch.emulate.single import blank_state, build_snippets

from .operands import F32, F64

SINGLE = """
v_div_scale_f32 v2, s[0:1], v1, v1, v0
v_div_scale_f32 v3, vcc, v0, v1, v0
v_rcp_f32_e32 v4, v2
v_fma_f32 v5, -v2, v4, 1.0
v_fmac_f32_e32 v4, v5, v4
v_mul_f32_e32 v5, v3, v4
v_fma_f32 v6, -v2, v5, v3
v_fmac_f32_e32 v5, v6, v4
v_fma_f32 v2, -v2, v5, v3
v_div_fmas_f32 v2, v2, v4, v5
v_div_fixup_f32 v0, v2, v1, v0
"""
DOUBLE = """
v_div_scale_f64 v[4:5], s[0:1], v[2:3], v[2:3], v[0:1]
v_rcp_f64_e32 v[6:7], v[4:5]
v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
v_div_scale_f64 v[8:9], vcc, v[0:1], v[2:3], v[0:1]
v_mul_f64 v[10:11], v[8:9], v[6:7]
v_fma_f64 v[4:5], -v[4:5], v[10:11], v[8:9]
v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[10:11]
v_div_fixup_f64 v[0:1], v[4:5], v[2:3], v[0:1]
"""


def operands(edges: list[int], bits: int, rng: random.Random) -> np.ndarray:
    kind = np.uint32 if bits == 32 else np.uint64
    return np.array([rng.choice(edges) if rng.random() < 0.5 else rng.getrandbits(bits) for _ in range(64)], dtype=kind)


def assert_same(found: np.ndarray, wanted: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    integer = np.uint32 if found.dtype == np.float32 else np.uint64
    wrong = (found.view(integer) != wanted.view(integer)) & ~(np.isnan(found) & np.isnan(wanted))
    assert not wrong.any(), [
        (x.hex(), y.hex(), f.hex(), w.hex())
        for x, y, f, w in zip(
            a[wrong].tolist(), b[wrong].tolist(), found[wrong].tolist(), wanted[wrong].tolist(), strict=True
        )
    ][:5]


def test_division_is_correctly_rounded() -> None:
    snippets = build_snippets([SINGLE, DOUBLE], "gfx942", 64)
    rng = random.Random(6)
    for _ in range(300):
        state = blank_state(64)
        a, b = (operands(F32, 32, rng).view(np.float32) for _ in range(2))
        state.v[0], state.v[1] = a.view(np.uint32), b.view(np.uint32)
        snippets.run(0, state)
        with np.errstate(all="ignore"):
            assert_same(state.v[0].view(np.float32), a / b, a, b)
        x, y = (operands(F64, 64, rng).view(np.float64) for _ in range(2))
        for first, values in ((0, x), (2, y)):
            state.v[first], state.v[first + 1] = values.view(np.uint64) & 0xFFFFFFFF, values.view(np.uint64) >> 32
        snippets.run(1, state)
        found = (state.v[0].astype(np.uint64) | state.v[1].astype(np.uint64) << np.uint64(32)).view(np.float64)
        with np.errstate(all="ignore"):
            assert_same(found, x / y, x, y)
