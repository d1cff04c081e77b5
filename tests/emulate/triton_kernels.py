"""Triton kernels of the kinds models use, for the tests of the emulator."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):  # noqa: N803
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * n + column, value / tl.sum(value, 0), mask=inside)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # noqa: N803
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (step + inner)[None, :])
        right = tl.load(b + (step + inner)[:, None] * n + columns[None, :])
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def layer_norm(out, x, weight, bias, n, eps, BLOCK: tl.constexpr):  # noqa: N803
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=0.0)
    mean = tl.sum(value, 0) / n
    centred = tl.where(inside, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + eps)
    result = centred * scale * tl.load(weight + column, mask=inside) + tl.load(bias + column, mask=inside)
    tl.store(out + row * n + column, result, mask=inside)


@triton.jit
def scale_into(out, x, n, by, BLOCK: tl.constexpr):  # noqa: N803
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, tl.load(x + place, mask=place < n) * by, mask=place < n)


# The first wants more threads than a workgroup can have.
@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=32), triton.Config({"BLOCK": 32}, num_warps=4)], key=["n"])
@triton.jit
def tuned_transpose(out, x, n, BLOCK: tl.constexpr):  # noqa: N803
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * n + rows[None, :], tl.trans(tile))
