import triton
import triton.language as tl

HAS_TF32 = False
if HAS_TF32:
    PRECISION = tl.constexpr("tf32")
else:
    PRECISION = tl.constexpr("ieee")


@triton.jit
def kernel(a, b):
    c = tl.dot(a, b, allow_tf32=True)
    return tl.dot(c, b, input_precision=PRECISION) + tl.dot(a, c)
