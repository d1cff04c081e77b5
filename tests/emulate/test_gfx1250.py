"""gfx1250 as a target: a bare instruction set, compiled by clang and Triton, against NumPy and torch.

Triton chooses the layouts of matrices by itself, so its kernels check how ours are read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate, stated_figures
from kernel_pytorch.core.hardware import UnknownTargetError, usual_gpu
from kernel_pytorch.emulate.device_properties import device_description
from kernel_pytorch.emulate.launch import launch
from kernel_pytorch.perf.inspect.inspection import gpu_for
from kernel_pytorch.perf.roofline.peaks import named_gpu

GPU = "gfx1250"


def test_a_bare_instruction_set_is_a_gpu_with_stated_figures() -> None:
    gpu = gpu_to_emulate(GPU)
    assert usual_gpu(GPU) is None, "a product with it now has a row: emulate that one"
    assert gpu.target.wave_size == 32 and gpu.target.max_lds_bytes_per_workgroup == 320 * 1024
    assert "32 compute units" in stated_figures(gpu) and not gpu.peak
    assert gpu_to_emulate("mi300x").name == "MI300X" and not stated_figures(gpu_to_emulate("gfx942"))
    properties = device_description(gpu)["properties"]
    assert properties["name"] == "AMD gfx1250" and properties["multiProcessorCount"] == gpu.compute_units
    with pytest.raises(UsageError, match="not an AMD GPU"):
        gpu_to_emulate("h100")


def test_nothing_is_predicted_from_stated_figures() -> None:
    with pytest.raises(UnknownTargetError, match="no product with this target, so no peak rates"):
        gpu_for(GPU)
    with pytest.raises(UnknownTargetError, match="an instruction set and no product; no product with it has published"):
        named_gpu(GPU)
    with pytest.raises(UnknownTargetError, match="products with it: mi300a, mi300x"):
        named_gpu("gfx942")


SOURCE = """
#include <hip/hip_runtime.h>
__constant__ float taps[4] = {1, 2, 3, 4};

__device__ __attribute__((noinline)) float chosen(const float *p, int i) { return p[i]; }

__global__ void mixed(float *out, const float *in, int n) {
    __shared__ float tile[320];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own[8];
    for (int k = 0; k < 8; k++) own[k] = in[(i + k * n) % 300];
    tile[threadIdx.x] = own[i & 7];
    __syncthreads();
    const float *from = (i & 1) ? own : in; /* private or global: a flat access */
    out[i] = chosen(from, i & 7) * taps[i & 3] + tile[blockDim.x - 1 - threadIdx.x];
    atomicAdd(out + 300, 1.0f);
}
"""


def test_a_kernel_of_clang() -> None:
    """Constants by a 64-bit distance, private memory through flat pointers, offsets that count elements, LDS."""
    rng = np.random.default_rng(0)
    given = rng.integers(-50, 50, 300).astype(np.float32)
    out = np.zeros(301, dtype=np.float32)
    launch(SOURCE, 3, 100, out, given, 7, gpu=GPU)
    i = np.arange(300)
    own = given[(i[:, None] + np.arange(8) * 7) % 300]
    first = np.where(i & 1, own[i, i & 7], given[i & 7])
    other = i // 100 * 100 + 99 - i % 100
    wanted = first * np.array([1, 2, 3, 4], dtype=np.float32)[i & 3] + own[other, other & 7]
    np.testing.assert_array_equal(out[:300], wanted)
    assert out[300] == 300


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (Path(__file__).parents[1] / "toolchain" / "kernels").glob("*.hip"))
)
def test_every_kernel_of_the_toolchain_tests_can_be_translated(name: str) -> None:
    from kernel_pytorch.emulate.launch import device_code
    from kernel_pytorch.emulate.translate import translate_to_c

    code = device_code(Path(__file__).parents[1] / "toolchain" / "kernels" / f"{name}.hip", GPU)
    found = translate_to_c(code.code_object, code.assembly, frozenset({"waits"}))
    assert not found.missing_waits


torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from . import gfx1250_kernels as kernels  # noqa: E402


def error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((got.double() - wanted.double()).abs().max() / wanted.double().abs().max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "out", "depth", "most"),
    [
        (torch.float16, torch.float32, 64, 1e-5),
        (torch.bfloat16, torch.bfloat16, 64, 5e-3),
        (torch.float8_e4m3fn, torch.float32, 64, 1e-5),
        (torch.float8_e4m3fn, torch.float32, 128, 1e-5),
        (torch.float8_e5m2, torch.float16, 64, 1e-3),
        (torch.float32, torch.float32, 64, 1e-5),
    ],
)
def test_products_of_matrices(given: torch.dtype, out: torch.dtype, depth: int, most: float) -> None:
    a, b = torch.randn(64, 256).to(given), torch.randn(256, 128).to(given)
    c = torch.zeros(64, 128, dtype=out)
    launch(kernels.gemm, (1, 2), 128, a, b, c, 128, 256, BM=64, BN=64, BK=depth, gpu=GPU)
    assert error(c, a.double() @ b.double()) < most


HALF_BYTES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.double)


def narrow(kind: str, rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random codes, and the numbers they stand for."""
    if kind == "e2m1":
        codes = torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8)
        pairs = torch.stack([HALF_BYTES[(codes & 15).long()], HALF_BYTES[(codes >> 4).long()]], -1)
        return codes, pairs.reshape(rows, columns)
    floats = torch.randn(rows, columns).to({"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[kind])
    return floats.view(torch.uint8), floats.double()


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right"), [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e5m2", "e2m1"), ("e2m1", "e4m3")])
def test_products_with_scales(left: str, right: str) -> None:
    (a, a_numbers), (b, b_numbers) = narrow(left, 64, 256), narrow(right, 64, 256)
    scales = [torch.randint(120, 134, (64, 8), dtype=torch.uint8) for _ in range(2)]
    out = torch.zeros(64, 64)
    packs = [2 if kind == "e2m1" else 1 for kind in (left, right)]
    launch(
        kernels.scaled_gemm, (1,), 128, a, scales[0], b.t().contiguous(), scales[1], out, 256,
        A=left, B=right, A_PACK=packs[0], B_PACK=packs[1], BM=64, BN=64, BK=128, gpu=GPU,
    )  # fmt: skip
    whole = [(2.0 ** (one.double() - 127)).repeat_interleave(32, 1) for one in scales]
    assert error(out, (a_numbers * whole[0]) @ (b_numbers * whole[1]).t()) < 1e-5


@pytest.mark.slow
def test_tiles_copied_by_descriptors_with_edges_outside() -> None:
    a, b = torch.randn(50, 100).half(), torch.randn(100, 72).half()
    c = torch.zeros(50, 72)
    launch(kernels.tile_gemm, (1, 2), 128, a, b, c, 50, 72, 100, BM=64, BN=64, BK=64, gpu=GPU)
    assert error(c, a.double() @ b.double()) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "depth", "rows"), [(torch.float16, 64, 64), (torch.bfloat16, 128, 128)])
def test_attention(dtype: torch.dtype, depth: int, rows: int) -> None:
    """The second takes more than 256 vector registers."""
    q, k, v = (torch.randn(128, depth).to(dtype) for _ in range(3))
    out = torch.zeros_like(q)
    scale = depth**-0.5
    launch(
        kernels.attention, (128 // rows,), 128, q, k, v, out, 128, scale * 1.4426950408889634,
        D=depth, BM=rows, BN=64, gpu=GPU,
    )  # fmt: skip
    wanted = torch.softmax(q.double() @ k.double().t() * scale, 1) @ v.double()
    assert error(out, wanted) < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "out"),
    [
        (torch.bfloat16, torch.float8_e4m3fn),
        (torch.float16, torch.float8_e5m2),
        (torch.float32, torch.float8_e4m3fn),
        (torch.float8_e4m3fn, torch.float16),
        (torch.float8_e5m2, torch.bfloat16),
        (torch.float8_e4m3fn, torch.float32),
    ],
)
def test_conversions(given: torch.dtype, out: torch.dtype) -> None:
    x = (torch.randn(1500) * 3).to(given)
    got = torch.zeros(1500, dtype=out)
    launch(kernels.convert, (2,), 128, x, got, 1500, BLOCK=1024, gpu=GPU)
    assert torch.equal(got.view(torch.uint8), x.to(out).view(torch.uint8))


@pytest.mark.slow
def test_bfloat16_arithmetic_and_atomics() -> None:
    x, y = ((torch.randn(1500) * 50).bfloat16() for _ in range(2))
    out = torch.zeros_like(x)
    launch(kernels.arithmetic, (2,), 128, x, y, out, 1500, BLOCK=1024, gpu=GPU)
    a, b = x.double(), y.double()
    assert error(out, a * b + a - b + torch.maximum(a, b)) < 1e-2
    sums = torch.zeros(17)
    launch(kernels.counted, (2,), 128, x.float(), sums, 1500, BLOCK=1024, gpu=GPU)
    wanted = torch.zeros(17, dtype=torch.double).index_add_(0, torch.arange(1500) % 17, a)
    assert error(sums, wanted) < 1e-4
