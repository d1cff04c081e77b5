import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.language.extra.cuda.libdevice import tanh as fast_tanh, rsqrt


@triton.jit
def kernel(x):
    a = libdevice.tanh(x)
    b = libdevice.add_rn(a, x)
    c = tl.extra.cuda.libdevice.erf(b)
    return fast_tanh(c) + rsqrt(c)
