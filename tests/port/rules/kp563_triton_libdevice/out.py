import torch
import triton
import triton.language as tl

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None
if IS_ROCM:
    from triton.language.extra import libdevice
else:
    from triton.language.extra.cuda import libdevice
if IS_ROCM:
    from triton.language.extra.libdevice import tanh as fast_tanh, rsqrt
else:
    from triton.language.extra.cuda.libdevice import tanh as fast_tanh, rsqrt


@triton.jit
def kernel(x):
    a = libdevice.tanh(x)
    b = libdevice.add_rn(a, x)
    c = tl.extra.cuda.libdevice.erf(b)
    return fast_tanh(c) + rsqrt(c)
