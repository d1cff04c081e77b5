"""Triton kernels that use what gfx1250 has: deep WMMA, scales, tiles copied to LDS, registers above v255."""

# ruff: noqa: N803
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def gemm(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def scaled_gemm(
    a,
    a_scale,
    b,
    b_scale,
    c,
    K,
    A: tl.constexpr,
    B: tl.constexpr,
    A_PACK: tl.constexpr,
    B_PACK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    rm, rn, rs = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK // 32)
    ka, kb = tl.arange(0, BK // A_PACK), tl.arange(0, BK // B_PACK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * (K // A_PACK) + (k // A_PACK + ka)[None, :])
        y = tl.load(b + (k // B_PACK + kb)[:, None] * BN + rn[None, :])
        xs = tl.load(a_scale + rm[:, None] * (K // 32) + (k // 32 + rs)[None, :])
        ys = tl.load(b_scale + rn[:, None] * (K // 32) + (k // 32 + rs)[None, :])
        acc = tl.dot_scaled(x, xs, A, y, ys, B, acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def tile_gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([m, k]), right.load([k, n]), acc)
    out.store([m, n], acc)


@triton.jit
def attention(q, k, v, out, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd, rn = tl.arange(0, D), tl.arange(0, BN)
    queries = tl.load(q + rm[:, None] * D + rd[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        keys = tl.load(k + (start + rn)[None, :] * D + rd[:, None])
        values = tl.load(v + (start + rn)[:, None] * D + rd[None, :])
        x = tl.dot(queries, keys) * scale
        new = tl.maximum(most, tl.max(x, 1))
        p = tl.exp2(x - new[:, None])
        kept = tl.exp2(most - new)
        total = total * kept + tl.sum(p, 1)
        acc = tl.dot(p.to(values.dtype), values, acc * kept[:, None])
        most = new
    tl.store(out + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def arithmetic(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0)
    b = tl.load(y + at, mask=at < n, other=0)
    tl.store(out + at, a * b + a - b + tl.maximum(a, b), mask=at < n)


@triton.jit
def counted(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + at % 17, tl.load(x + at, mask=at < n, other=0), mask=at < n)
