"""Stages that may not fit."""

import triton

DEEP = [triton.Config({}, num_warps=4, num_stages=s) for s in [3, 4]]
LARGE = [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=3, num_warps=8),
    triton.Config({"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64}, num_stages=4, num_warps=8),
]


def run(kernel, x):
    kernel[(1,)](x, BLOCK=128, num_stages=4)
