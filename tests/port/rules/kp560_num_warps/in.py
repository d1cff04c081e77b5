"""Warps for a kernel, written nine ways."""

import torch
import triton
import triton.language as tl

WARPS = (8, 32)
WIDE = 16, 32


@triton.autotune(
    configs=[
        triton.Config({"B": 1024}, num_warps=16),
        triton.Config({"B": 4096}, num_warps=32),
        *[triton.Config({"B": b}, num_warps=w) for b in (512,) for w in [4, 8, 16, 32]],
        *[triton.Config({"B": 256}, num_warps=w) for w in WARPS],
        *[triton.Config({"B": 128}, num_warps=w) for w in WIDE],
    ],
    key=["n"],
)
@triton.jit
def double(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def run(x, big):
    double[(1,)](x, x.numel(), B=1024, num_warps=32 if big else 4)


def settings(n):
    block = triton.next_power_of_2(n)
    num_warps = 4
    if block >= 32768:
        num_warps = 32
    elif block >= 8192:
        num_warps = 16
    return block, num_warps


def run_wide(x, n):
    warps = 32 if n > 4096 else 8
    double[(1,)](x, n, B=1024, num_warps=warps)
    num_warps = min(max(n // 256, 1), 32)
    double[(1,)](x, n, B=1024, num_warps=num_warps)
