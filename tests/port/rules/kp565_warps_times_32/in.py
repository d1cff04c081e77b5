import torch
import triton

BLOCK = 32 * triton.num_warps


def threads(num_warps, meta):
    total = num_warps * 32
    return total + 32 * meta.num_warps
