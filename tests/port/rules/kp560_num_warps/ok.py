import torch
import triton

IS_ROCM = torch.version.hip is not None
WARPS = [4, 8, 16] if IS_ROCM else [4, 8, 16, 32]
CONFIGS = [triton.Config({}, num_warps=w) for w in WARPS]
FITTING = [triton.Config({}, num_warps=w) for w in [4, 8, 16, 32] if w * 64 <= 1024]
SMALL = [triton.Config({"B": 32}, num_warps=8)]


def run(kernel, x):
    kernel[(1,)](x, B=32, num_warps=16)
    return x.chunk(num_warps=32)


def settings(block):
    num_warps = 4
    if block >= 8192:
        num_warps = 16
    threads = 32
    return threads, num_warps


def run_bounded(kernel, x, n):
    num_warps = min(max(n // 32, 1), 16)
    kernel[(1,)](x, B=32, num_warps=num_warps)
