import torch
import triton
import triton.language as tl

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

PRECISION = tl.constexpr("ieee" if IS_ROCM else "tf32")


@triton.jit
def kernel(a, b):
    c = tl.dot(a, b, input_precision="tf32x3")
    return tl.dot(c, b, input_precision=PRECISION)
