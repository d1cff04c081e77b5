import torch
import triton
import triton.language as tl

PRECISION = tl.constexpr("tf32")


@triton.jit
def kernel(a, b):
    c = tl.dot(a, b, input_precision="tf32x3")
    return tl.dot(c, b, input_precision=PRECISION)
