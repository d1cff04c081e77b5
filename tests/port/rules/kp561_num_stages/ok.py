"""The autotuner has something that fits: it passes over the rest."""

import triton

MIXED = [triton.Config({}, num_warps=4, num_stages=s) for s in [2, 3, 4]]
TILES = [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=3, num_warps=8),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32}, num_stages=5, num_warps=2),
]


def run(kernel, x):
    kernel[(1,)](x, BLOCK=128, num_stages=2)
    return kernel.schedule(num_stages=4)
