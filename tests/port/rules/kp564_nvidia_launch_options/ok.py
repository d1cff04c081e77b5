import triton
import triton.language as tl

CONFIGS = [triton.Config({"B": 64}, num_warps=4, num_ctas=1, maxnreg=None)]


@triton.jit
def kernel(x, n, B: tl.constexpr):
    for i in tl.range(0, n, B, warp_specialize=False):
        tl.store(x + i, 0.0)


def run(x, plan):
    return plan(x, num_ctas=4, maxnreg=32)
