"""Matrix instructions against NumPy's matmul, through the register layouts of the ISA documents.

Elements are small integers, so every sum is exact and the order of additions cannot matter: what is tested is which
element sits where. The layouts are written here once more, as array reshapes.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernel_pytorch.emulate.single import blank_state, build_snippets

from .mnemonics import cases

ELEMENTS = "f32|xf32|f16|bf16|bf16_1k|i8|f64|fp8_fp8|bf8_fp8"
MFMA = re.compile(rf"v_mfma_(f32|i32|f64)_(\d+)x\d+x(\d+)(?:_(\d+)b)?_?({ELEMENTS})\Z")
FP8 = {"gfx942": (8, 16), "other": (7, 15)}  # biases of E4M3 and E5M2


def encode(values: np.ndarray, kind: str, target: str) -> np.ndarray:
    """Small integers as elements of the type, in unsigned integers of its width."""
    if kind in ("f32", "xf32"):
        return values.astype(np.float32).view(np.uint32)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "i8":
        return values.astype(np.int8).view(np.uint8)
    mantissa = 3 if kind == "fp8" else 2
    bias = FP8.get(target, FP8["other"])[0 if kind == "fp8" else 1]
    fraction, exponent = np.frexp(np.abs(values))
    code = ((exponent - 1 + bias) << mantissa) + np.round((2 * fraction - 1) * (1 << mantissa)).astype(int)
    return np.where(values == 0, 0, code | (values < 0) << 7).astype(np.uint8)


def lanes(elements: np.ndarray) -> np.ndarray:
    """(lanes, elements) of any width as (registers, lanes) of 32 bits."""
    return np.ascontiguousarray(np.ascontiguousarray(elements).view(np.uint32).T)


def mfma_operand(matrix: np.ndarray, blocks: int) -> np.ndarray:
    """(blocks, rows, k) as (64 lanes, elements): lane = row + rows * (block + blocks * group of k)."""
    _, rows, depth = matrix.shape
    groups = 64 // (rows * blocks)
    return matrix.reshape(blocks, rows, groups, depth // groups).transpose(2, 0, 1, 3).reshape(64, -1)


def mfma_result(registers: np.ndarray, m: int, blocks: int) -> np.ndarray:
    """(registers, 64 lanes) as (blocks, rows, columns)."""
    if m == 32:  # row = 8 * (register / 4) + 4 * (lane / 32) + register % 4
        return registers.reshape(blocks, 4, 4, 2, 32).transpose(0, 1, 3, 2, 4).reshape(blocks, 32, 32)
    if m == 16:  # row = 4 * (lane / 16) + register
        return registers.reshape(blocks, 4, 4, 16).transpose(0, 2, 1, 3).reshape(blocks, 16, 16)
    return registers.reshape(4, 16, 4).transpose(1, 0, 2)  # row = register, block = lane / 4


DENSE = [
    (row.name, target)
    for row, target, wave in cases("wave")
    if wave == 64 and MFMA.match(row.name) and "f64" not in row.name
]


@pytest.mark.parametrize("target", sorted({target for _, target in DENSE}))
def test_mfma_equals_matmul(target: str) -> None:
    names = [name for name, its_target in DENSE if its_target == target]
    shapes = []
    for name in names:
        match = MFMA.match(name)
        assert match is not None
        m, depth, kinds = int(match[2]), int(match[3]), match[5].removesuffix("_1k")
        width = {"f32": 4, "xf32": 4, "f16": 2, "bf16": 2}.get(kinds, 1)
        per_lane = 4 if width < 4 else 1
        # On gfx942 and later these names are second spellings of those with four values a lane.
        if kinds == "bf16" and target in ("gfx908", "gfx90a") and re.search(r"x[248]bf16\Z", name):
            per_lane = 2
        blocks = int(match[4] or 0) or (1 if depth * m // 64 >= per_lane else 64 // m)
        shapes.append((name, m, depth, kinds, blocks, max(1, depth * m * blocks * width // 256)))
    texts = [
        f"{name} v[64:{63 + m * m * blocks // 64}], v[0:{words - 1}], v[16:{15 + words}], "
        f"v[32:{31 + m * m * blocks // 64}]"
        for name, m, _, _, blocks, words in shapes
    ]
    texts = [re.sub(r"\[(\d+):\1\]", r"\1", text) for text in texts]
    snippets = build_snippets(texts, target, 64)
    rng = np.random.default_rng(5)
    for index, (name, m, depth, kinds, blocks, words) in enumerate(shapes):
        left, _, right = kinds.partition("_")
        a = rng.integers(-4, 5, (blocks, m, depth))
        b = rng.integers(-4, 5, (blocks, depth, m))
        c = rng.integers(-100, 100, (m * m * blocks // 64, 64))
        state = blank_state(64, vgprs=128)
        state.v[0:words] = lanes(mfma_operand(encode(a, left, target), blocks))
        state.v[16 : 16 + words] = lanes(mfma_operand(encode(b.transpose(0, 2, 1), right or left, target), blocks))
        integer = kinds == "i8"
        state.v[32 : 32 + len(c)] = c.astype(np.int32 if integer else np.float32).view(np.uint32)
        snippets.run(index, state)
        found = state.v[64 : 64 + len(c)].view(np.int32 if integer else np.float32)
        wanted = a @ b + mfma_result(c, m, blocks)
        assert np.array_equal(mfma_result(found, m, blocks), wanted), name


@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_double_mfma_equals_matmul(name: str) -> None:
    big = "16x16" in name
    rng = np.random.default_rng(6)
    count = 8 if big else 2
    text = f"{name} v[16:{15 + count}], v[0:1], v[2:3], v[4:{3 + count}]"
    snippets = build_snippets([text], "gfx942", 64)
    state = blank_state(64)
    blocks, m = (1, 16) if big else (4, 4)
    a, b = rng.integers(-9, 10, (blocks, m, 4)), rng.integers(-9, 10, (blocks, 4, m))
    c = rng.integers(-9, 10, (count // 2, 64))
    for first, values in ((0, a.transpose(2, 0, 1).reshape(64)), (2, b.transpose(1, 0, 2).reshape(64))):
        pairs = values.astype(np.float64).view(np.uint64)
        state.v[first], state.v[first + 1] = pairs & 0xFFFFFFFF, pairs >> 32
    for i, values in enumerate(c.astype(np.float64).view(np.uint64)):
        state.v[4 + 2 * i], state.v[5 + 2 * i] = values & 0xFFFFFFFF, values >> 32
    snippets.run(0, state)
    words = state.v[16 : 16 + count].astype(np.uint64)
    found = (words[0::2] | words[1::2] << np.uint64(32)).view(np.float64)

    def place(registers: np.ndarray) -> np.ndarray:
        if big:  # row = 4 * register + lane / 16
            return registers.reshape(4, 4, 16).reshape(1, 16, 16)
        return registers.reshape(4, 4, 4).transpose(1, 0, 2)  # row = lane / 16, block = lane / 4 % 4

    assert np.array_equal(place(found), a @ b + place(c))


WMMA = [("gfx1100", "f16"), ("gfx1100", "bf16"), ("gfx1201", "f16"), ("gfx1201", "bf16"), ("gfx1201", "fp8")]


@pytest.mark.parametrize(("target", "kind"), WMMA)
def test_wmma_equals_matmul(target: str, kind: str) -> None:
    """gfx11: a lane holds a row of A, twice, and D's row is 2 * register + lane / 16; gfx12: half a row."""
    gfx11 = target == "gfx1100"
    words = {"f16": 8, "bf16": 8, "fp8": 4}[kind] // (1 if gfx11 else 2)
    pair = f"{kind}_{kind}" if kind == "fp8" else kind
    text = f"v_wmma_f32_16x16x16_{pair} v[40:47], v[0:{words - 1}], v[8:{7 + words}], v[16:23]"
    snippets = build_snippets([text], target, 32)
    rng = np.random.default_rng(7)
    a, b, c = rng.integers(-4, 5, (16, 16)), rng.integers(-4, 5, (16, 16)), rng.integers(-50, 50, (8, 32))

    def operand(rows: np.ndarray) -> np.ndarray:
        if gfx11:
            return np.concatenate([rows, rows])
        return rows.reshape(16, 2, 8).transpose(1, 0, 2).reshape(32, 8)

    def place(registers: np.ndarray) -> np.ndarray:
        if gfx11:
            return registers.reshape(8, 2, 16).reshape(16, 16)
        return registers.reshape(8, 2, 16).transpose(1, 0, 2).reshape(16, 16)

    state = blank_state(32)
    state.v[0:words] = lanes(operand(encode(a, kind, target)))
    state.v[8 : 8 + words] = lanes(operand(encode(b.T, kind, target)))
    state.v[16:24] = c.astype(np.float32).view(np.uint32)
    snippets.run(0, state)
    assert np.array_equal(place(state.v[40:48].view(np.float32)), a @ b + place(c))
