"""What compilers make of matrix products: the layouts they write must be the ones the table has.

Triton's layouts and clang's builtins know the hardware's; a kernel of theirs whose result is a matmul on the engine
shows that the table's layout is the same.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernel_pytorch.emulate.launch import launch

torch = pytest.importorskip("torch")

MFMA = """
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef float float4v __attribute__((ext_vector_type(4)));
extern "C" __global__ void product(const _Float16 *a, const _Float16 *b, float *c, float *d) {
    int lane = threadIdx.x, column = lane % 32, group = lane / 32;
    float16v sum = {};
    for (int k = 0; k < 32; k += 8) {
        half4 x, y;
        for (int e = 0; e < 4; e++) {
            x[e] = a[column * 32 + k + 4 * group + e];
            y[e] = b[(k + 4 * group + e) * 32 + column];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 16; r++) c[(8 * (r / 4) + 4 * group + r % 4) * 32 + column] = sum[r];
    float4v small = {};
    for (int k = 0; k < 32; k += 4)
        small = __builtin_amdgcn_mfma_f32_16x16x4f32((float)a[(lane % 16) * 32 + k + lane / 16],
                                                     (float)b[(k + lane / 16) * 32 + lane % 16], small, 0, 0, 0);
    for (int r = 0; r < 4; r++) d[(4 * (lane / 16) + r) * 16 + lane % 16] = small[r];
}
"""


def test_mfma_builtins_multiply_matrices() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-8, 9, (32, 32)).astype(np.float16) for _ in range(2))
    c, d = np.zeros((32, 32), np.float32), np.zeros((16, 16), np.float32)
    launch(MFMA, 1, 64, a, b, c, d, gpu="mi300x")
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(c, wanted)
    assert np.array_equal(d, wanted[:16, :16])


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi250x", "mi300x", "mi350x", "rx7900xtx", "rx9070xt"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8", "float8"])
def test_triton_dot_is_a_matmul(gpu: str, kind: str) -> None:
    pytest.importorskip("triton")
    from kernel_pytorch.core.hardware import gpu_by_alias
    from kernel_pytorch.emulate.triton_launch import launch_triton

    from .triton_matmul import matmul, result_type

    formats = {"e4m3fnuz": torch.float8_e4m3fnuz, "e4m3fn": torch.float8_e4m3fn}
    if kind == "float8":
        if gpu_by_alias(gpu).target.fp8_format not in formats:
            pytest.skip("this GPU has no 8-bit floats")
        dtype = formats[gpu_by_alias(gpu).target.fp8_format]
    else:
        dtype = getattr(torch, kind)
    rng = np.random.default_rng(2)
    a, b = (torch.from_numpy(rng.integers(-4, 5, shape)).float().to(dtype) for shape in ((64, 128), (128, 64)))
    c = torch.zeros((64, 64), dtype=torch.int32 if kind == "int8" else torch.float32)
    launch_triton(matmul, (1,), a, b, c, M=64, N=64, K=128, BK=64, OUT=result_type(kind == "int8"), gpu=gpu)
    assert torch.equal(c.float(), a.float() @ b.float())
