"""Warps for a kernel, written five ways."""

import torch
import triton
import triton.language as tl

WARPS = (8, 32)


@triton.autotune(
    configs=[
        triton.Config({"B": 1024}, num_warps=16),
        triton.Config({"B": 4096}, num_warps=32),
        *[triton.Config({"B": b}, num_warps=w) for b in (512,) for w in [4, 8, 16, 32]],
        *[triton.Config({"B": 256}, num_warps=w) for w in WARPS],
    ],
    key=["n"],
)
@triton.jit
def double(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def run(x, big):
    double[(1,)](x, x.numel(), B=1024, num_warps=32 if big else 4)
