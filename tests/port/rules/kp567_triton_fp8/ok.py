import triton
import triton.language as tl


@triton.jit
def kernel(x, fp8: tl.constexpr):
    return x.to(fp8)


def element_type(is_mi300):
    return tl.float8e4b8 if is_mi300 else tl.float8e4nv


NAME = "tl.float8e4nv"
