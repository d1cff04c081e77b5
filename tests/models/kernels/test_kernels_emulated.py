"""Machine code of the kernels for AMD targets, run on the emulated GPU: a wave of 64, and one of 32."""

from __future__ import annotations

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from kernel_pytorch.core.hardware import gpu_by_alias  # noqa: E402
from kernel_pytorch.emulate.triton_launch import launch_triton  # noqa: E402
from kernel_pytorch.models.kernels import plain  # noqa: E402
from kernel_pytorch.models.kernels.gated_kernels import gated_kernels  # noqa: E402
from kernel_pytorch.models.kernels.launch import Card, Launch  # noqa: E402
from kernel_pytorch.models.kernels.norm_kernels import norm_kernels  # noqa: E402
from kernel_pytorch.models.kernels.rope_kernels import rope_kernels  # noqa: E402

pytestmark = pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="Triton interprets in this process")
GPUS = ("mi300x", "rx7900xtx")


def run(kernel: Any, grid: int, gpu: str, chosen: Launch, *args: Any, **constants: Any) -> None:
    card = Card.of_target(gpu_by_alias(gpu).target, 2)
    launch_triton(kernel, (grid,), *args, gpu=gpu, num_warps=chosen.options(card)["num_warps"], **constants)


@pytest.mark.parametrize("gpu", GPUS)
def test_add_layer_norm(gpu: str) -> None:
    torch.manual_seed(0)
    x, residual = torch.randn(5, 100), torch.randn(5, 100)
    weight, bias = torch.randn(100), torch.randn(100)
    y, h = torch.full_like(x, 7.0), torch.full_like(x, 7.0)
    mean, rstd = torch.zeros(5), torch.zeros(5)
    chosen = Launch(128, 2, 128)
    run(
        norm_kernels()["norm_forward"], -(-5 // chosen.rows), gpu, chosen,
        y, h, mean, rstd, x, residual, weight, bias, 5, 100, 100, 100, 1e-5, 0.0,
        CENTER=True, ROUND_FIRST=False, ROWS=chosen.rows, BLOCK=chosen.block,
    )  # fmt: skip
    wide = [item.double() for item in (x, residual, weight, bias)]
    exact = plain.norm_forward(*wide, 1e-5, 0.0, center=True, round_first=False)
    for got, want in zip((y, h, mean, rstd), exact, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("gpu", GPUS)
def test_rms_norm_gradients(gpu: str) -> None:
    torch.manual_seed(1)
    x, dy, weight = torch.randn(7, 60), torch.randn(7, 60), torch.randn(60)
    rstd = (x.square().mean(-1) + 1e-5).rsqrt()
    dx, parts = torch.full_like(x, 7.0), torch.full((2, 60), 7.0)
    chosen = Launch(64, 2, 64)
    run(
        norm_kernels()["norm_backward"], 2, gpu, chosen,
        dx, parts, None, dy, None, x, None, rstd, weight, 7, 60, 60, 0, 60, 0.0,
        CENTER=False, ROUND_FIRST=False, ROWS=chosen.rows, BLOCK=chosen.block, PREFETCH=True, HOLD=True,
    )  # fmt: skip
    wide = [item.double() if item is not None else None for item in (dy, None, x, None, rstd, weight)]
    exact = plain.norm_backward(*wide, 0.0, round_first=False, needs_weight=True, needs_bias=False)
    torch.testing.assert_close(dx.double(), exact[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(parts.sum(0).double(), exact[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("gpu", GPUS)
def test_gelu_gradients(gpu: str) -> None:
    torch.manual_seed(2)
    dout, gate, up = (torch.randn(2, 150) for _ in range(3))
    gate[0, :4] = torch.tensor([-1e30, -40.0, 40.0, 1e30])
    dgate, dup = torch.full_like(gate, 7.0), torch.full_like(up, 7.0)
    chosen = Launch(128, 1, 128)
    run(
        gated_kernels()["gated_backward"], 4, gpu, chosen, dgate, dup, dout, gate, up, 150, 2, 150, 150, 150,
        KIND="gelu_tanh", BLOCK=128,
    )  # fmt: skip
    exact = plain.gated_backward(dout.double(), gate.double(), up.double(), "gelu_tanh")
    torch.testing.assert_close(dgate.double(), exact[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(dup.double(), exact[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("gpu", GPUS)
def test_rope(gpu: str) -> None:
    torch.manual_seed(3)
    q, k = torch.randn(1, 3, 4, 16), torch.randn(1, 2, 4, 16)
    cos, sin = torch.randn(1, 4, 16), torch.randn(1, 4, 16)
    outs = torch.full_like(q, 7.0), torch.full_like(k, 7.0)
    strides = [value for item in (*outs, q, k) for value in item.stride()[:3]]
    run(
        rope_kernels()["rope"], 8, gpu, Launch(8, 4, 64),
        *outs, q, k, cos, sin, 4, 3, 2, 1, 2, 4, *strides, 0, 16, 8, 0,
        INTERLEAVED=False, FULL_TABLE=True, BACKWARD=False, HEADS=4, TOKENS=1, HALF=8, REST=0,
    )  # fmt: skip
    exact = plain.rotate(q.double(), k.double(), cos.double(), sin.double(), 16, interleaved=False)
    for got, want in zip(outs, exact, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)
