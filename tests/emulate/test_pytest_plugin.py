"""The fixture `emulated_gpu`, as a user's test file has it: each test once for each GPU."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_pytorch.emulate.pytest_plugin import DEFAULT_GPUS, EmulatedGPU

numpy = pytest.importorskip("numpy")

BALLOT = "__global__ void lanes(unsigned long long *out) { out[threadIdx.x] = __ballot(1); }"
SEEN: dict[str, set[str]] = {"default": set(), "chosen": set()}


def test_hip_source_at_both_widths(emulated_gpu: EmulatedGPU) -> None:
    SEEN["default"].add(emulated_gpu.device.gpu.target.name)
    out = numpy.zeros(64, dtype=numpy.uint64)
    emulated_gpu.run(BALLOT, 1, 64, out)
    assert (out == 2**emulated_gpu.wave_size - 1).all()


@pytest.mark.emulated_gpus("mi250x", "rx9070xt")
def test_gpus_of_ones_own_choice(emulated_gpu: EmulatedGPU) -> None:
    SEEN["chosen"].add(emulated_gpu.device.gpu.target.name)
    assert emulated_gpu.wave_size in (32, 64)


def test_both_ran_on_every_gpu() -> None:
    assert len(SEEN["default"]) in (0, len(DEFAULT_GPUS))  # 0: this test was run by itself
    assert SEEN["chosen"] in (set(), {"gfx90a", "gfx1201"})


def test_a_triton_kernel(emulated_gpu: EmulatedGPU) -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("triton")
    from . import triton_kernels

    x = torch.randn(5, 200)
    out = torch.empty_like(x)
    events = emulated_gpu.run(triton_kernels.softmax, (5,), 2 * emulated_gpu.wave_size, out, x, 200, BLOCK=256)
    torch.testing.assert_close(out, x.softmax(-1), rtol=1e-6, atol=1e-6)
    assert [one.block for one in events.launches] == [(2 * emulated_gpu.wave_size, 1, 1)]


def test_tritons_own_launch(emulated_gpu: EmulatedGPU) -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("triton")
    from . import triton_kernels

    x = torch.randn(5, 200)
    out = torch.empty_like(x)
    with emulated_gpu.triton() as session:
        triton_kernels.softmax[(5,)](out, x, 200, BLOCK=256)
    torch.testing.assert_close(out, x.softmax(-1), rtol=1e-6, atol=1e-6)
    assert [(one.kernel, one.grid) for one in session.launches] == [("softmax", (5, 1, 1))]
