"""Stages that may not fit."""

import triton


def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()

DEEP = [triton.Config({}, num_warps=4, num_stages=s) for s in ([2] if IS_ROCM else [3, 4])]
LARGE = [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=2 if IS_ROCM else 3, num_warps=8),
    triton.Config({"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64}, num_stages=2 if IS_ROCM else 4, num_warps=8),
]


def run(kernel, x):
    kernel[(1,)](x, BLOCK=128, num_stages=2 if IS_ROCM else 4)
