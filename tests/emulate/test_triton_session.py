"""Triton's own launches inside `emulated_triton`: arguments, tuning, views, and what is put back afterwards."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from triton.runtime import driver  # noqa: E402

from kernel_pytorch.core.errors import UsageError  # noqa: E402
from kernel_pytorch.emulate.device import EmulatedDevice, EmulatedKernelFault  # noqa: E402
from kernel_pytorch.emulate.launch import launch  # noqa: E402
from kernel_pytorch.emulate.triton_session import emulated_triton  # noqa: E402

from . import triton_kernels  # noqa: E402


@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_views_share_memory_and_keep_their_strides(gpu: str) -> None:
    both = torch.arange(200, dtype=torch.float32).reshape(2, 100)
    columns = both.T[10:60, 1]  # 50 values, a hundred apart from the other row's
    assert columns.storage_offset() == 110 and not both.T.is_contiguous()
    expected = both.clone()
    expected[1, 10:60] = both[0, 10:60] * 2
    with emulated_triton(gpu) as session:
        triton_kernels.scale_into[(1,)](columns, both[0, 10:60], 50, 2.0, BLOCK=64)
    assert torch.equal(both, expected)
    assert [launched.kernel for launched in session.launches] == ["scale_into"]


def test_autotune_takes_the_first_configuration_that_fits() -> None:
    tile = triton_kernels.tuned_transpose
    x = torch.randn(64, 64)
    out = torch.empty(64, 64)
    with emulated_triton("mi300x"):
        tile[lambda meta: (64 // meta["BLOCK"], 64 // meta["BLOCK"])](out, x, 64)
    assert torch.equal(out, x.T)
    assert tile.best_config.num_warps == 4
    assert not tile.cache  # nothing is left behind that a real GPU would take for a measurement


def test_torch_answers_as_the_gpu_and_everything_is_put_back() -> None:
    before = (driver._active, torch.cuda.device, torch.cuda.get_device_properties, torch.version.hip)
    x = torch.randn(4)
    with emulated_triton("mi250x") as session:
        target = driver.active.get_current_target()
        assert (target.backend, target.arch, target.warp_size) == ("hip", "gfx90a", 64)
        with torch.cuda.device(x.device.index):
            assert torch.cuda.get_device_properties(x.device).warp_size == 64
        assert torch.cuda.get_device_properties(x.device).multi_processor_count == session.device.gpu.compute_units
        assert torch.version.hip
    assert (driver._active, torch.cuda.device, torch.cuda.get_device_properties, torch.version.hip) == before
    with pytest.raises(RuntimeError), emulated_triton("mi250x"):
        raise RuntimeError
    assert driver._active is before[0]


def test_a_fault_names_the_kernel_and_the_session_goes_on() -> None:
    x, out = torch.randn(50), torch.zeros(50)
    with emulated_triton("mi300x") as session:
        with pytest.raises(EmulatedKernelFault, match="scale_into"):
            triton_kernels.scale_into[(1,)](out, x, 1 << 20, 2.0, BLOCK=1 << 16)
        triton_kernels.scale_into[(1,)](out, x, 50, 2.0, BLOCK=64)
    assert torch.equal(out, 2 * x)
    assert len(session.launches) == 1


def test_launch_takes_a_triton_kernel_with_its_constants_by_name() -> None:
    x, out = torch.randn(50), torch.zeros(50)
    launch(triton_kernels.scale_into, (1,), 64, out, x, 50, 3.0, gpu="mi300x", BLOCK=64)
    assert torch.equal(out, 3 * x)
    with pytest.raises(UsageError, match=r"1, 2, 4 \.\.\. waves of 64"):
        launch(triton_kernels.scale_into, (1,), 96, out, x, 50, 3.0, gpu="mi300x", BLOCK=64)
    with pytest.raises(UsageError, match="BLOCK= is for Triton kernels"):
        launch("__global__ void k() {}", 1, 64, BLOCK=64)


def test_a_session_on_a_device_of_ones_own() -> None:
    x, out = torch.randn(50), torch.zeros(50)
    with EmulatedDevice("rx7900xtx") as device:
        for _ in range(2):
            with emulated_triton(device=device) as session:
                triton_kernels.scale_into[(1,)](out, x, 50, 2.0, BLOCK=64)
            assert session.device is device
    assert torch.equal(out, 2 * x)


def test_gfx950_loads_tiles_straight_into_lds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's pipelining for gfx950: buffer loads that write LDS, and transposing reads from it."""
    monkeypatch.setenv("TRITON_HIP_USE_ASYNC_COPY", "1")
    a, b = torch.randn(64, 128).half(), torch.randn(128, 64).half()
    out = torch.zeros(64, 64)
    with emulated_triton("mi350x"):
        triton_kernels.matmul[(2, 2)](a, b, out, 64, 64, 128, BM=32, BN=32, BK=32, num_stages=3)
    torch.testing.assert_close(out, (a.double() @ b.double()).float(), rtol=1e-4, atol=1e-4)
