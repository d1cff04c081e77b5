import triton
import triton.language as tl
from triton.language.extra import libdevice


class numpy_libdevice:
    add_rn = None


@triton.jit
def kernel(x):
    return libdevice.tanh(x) + libdevice.erf(x) + tl.extra.libdevice.rsqrt(x)


half = numpy_libdevice.add_rn
