"""A Triton matmul of one block. (Triton reads the kernel's source, so it lives in a file of its own.)"""

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr):  # noqa: N803
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    k = tl.arange(0, BK)
    acc = tl.zeros((M, N), dtype=OUT)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + i[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + j[None, :])
        acc = tl.dot(a, b, acc, out_dtype=OUT)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


def result_type(integer: bool):
    return tl.int32 if integer else tl.float32
