import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()

CONFIGS = [
    triton.Config({"B": 64}, num_warps=4, num_ctas=1 if IS_ROCM else 2),
    triton.Config({"B": 64}, num_warps=8, maxnreg=None if IS_ROCM else 128),
    triton.Config({"B": 32}, num_consumer_groups=2),
    *[triton.Config({"B": 32}, num_warps=4, num_ctas=c) for c in ((1,) if IS_ROCM else (1, 2))],
]


@triton.jit
def kernel(x, n, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [n], [1], [B])
    e = tl.make_tensor_descriptor(x, [n], [1], [B])
    for i in tl.range(0, n, B, warp_specialize=True):
        d.store([i], e.load([i]))


def run(x, limit):
    kernel[(1,)](x, x.numel(), B=32, maxnreg=limit)
    return TensorDescriptor.from_tensor(x, [64])
