import torch
import triton
import triton.language as tl

TYPES = {torch.float8_e4m3fn: tl.float8e4nv}


@triton.jit
def kernel(x):
    return x.to(tl.float8e4nv)


def element_type(is_fp8):
    return tl.float8e4nv if is_fp8 else tl.float16
