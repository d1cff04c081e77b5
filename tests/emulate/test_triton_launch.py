"""Triton kernels compiled for AMD targets and run as machine code, equal to torch's own result."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from kernel_pytorch.core.errors import UsageError  # noqa: E402
from kernel_pytorch.emulate.triton_launch import launch_triton  # noqa: E402

from . import triton_kernels  # noqa: E402

GPUS = ("mi300x", "rx7900xtx")


@pytest.mark.parametrize("gpu", GPUS)
def test_softmax(gpu: str) -> None:
    x = torch.randn(5, 200)
    out = torch.empty_like(x)
    launch_triton(triton_kernels.softmax, (5,), out, x, 200, BLOCK=256, gpu=gpu)
    torch.testing.assert_close(out, x.softmax(-1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("gpu", GPUS)
def test_matmul_on_matrix_units(gpu: str, dtype: torch.dtype) -> None:
    a, b = torch.randn(64, 32).to(dtype), torch.randn(32, 64).to(dtype)
    out = torch.zeros(64, 64)
    launch_triton(triton_kernels.matmul, (2, 2), a, b, out, 64, 64, 32, BM=32, BN=32, BK=32, gpu=gpu)
    torch.testing.assert_close(out, (a.double() @ b.double()).float(), rtol=1e-4, atol=1e-4)


def test_layer_norm_grid_as_a_function() -> None:
    x, weight, bias = torch.randn(7, 96), torch.randn(96), torch.randn(96)
    out = torch.empty_like(x)
    launch_triton(triton_kernels.layer_norm, lambda meta: (7,), out, x, weight, bias, 96, 1e-5, BLOCK=128, gpu="mi250x")
    torch.testing.assert_close(out, torch.nn.functional.layer_norm(x, (96,), weight, bias), rtol=1e-5, atol=1e-5)


def test_what_triton_refuses_is_said() -> None:
    x = torch.randn(4)
    with pytest.raises(UsageError, match="missing a required argument"):
        launch_triton(triton_kernels.softmax, (1,), x, x, BLOCK=4)
    with pytest.raises(UsageError, match="does not compile for gfx942"):
        launch_triton(triton_kernels.softmax, (1,), x, x, 4, BLOCK=3)
