"""AMDMemoryManager on the CPU: figures, purposes, the pool, refusal, bisection."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.backends.amd import AMDMemoryManager  # noqa: E402
from kernel_pytorch.backends.host import host_memory  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import AMDConfigurationError, AMDDeviceError, ROCmMemoryError  # noqa: E402
from kernel_pytorch.core.platform import using  # noqa: E402
from kernel_pytorch.core.stand_in import stand_in  # noqa: E402

MB = 2**20


@pytest.fixture
def manager() -> AMDMemoryManager:
    return AMDMemoryManager(AMDConfig(memory_pool_size_gb=0.0625), device="cpu")  # 64 MB


def test_the_hosts_figures(manager: AMDMemoryManager) -> None:
    stats = manager.get_memory_stats()
    assert stats.total_mb == pytest.approx(host_memory().total_bytes / MB)
    assert 0 < stats.free_mb <= stats.total_mb
    assert (stats.allocated_mb, stats.reserved_mb, stats.num_allocations, stats.num_frees) == (0, 0, 0, 0)


def test_the_device_may_be_given_by_number() -> None:
    assert AMDMemoryManager().device_id == 0
    with using(stand_in("mi250x")):  # two devices on one board
        manager = AMDMemoryManager(device_id=1)
        assert (manager.device_id, manager.config.device_id) == (1, 1)
        with pytest.raises(AMDDeviceError, match="device_id=2"):
            AMDMemoryManager(device_id=2)
    with pytest.raises(AMDConfigurationError, match="device_id"):
        AMDMemoryManager(device_id=-1)
    with pytest.raises(AMDConfigurationError, match="leave it out"):
        AMDMemoryManager(device="cpu", device_id=0)


def test_the_figures_of_a_stood_in_gpu_are_that_gpus() -> None:
    with using(stand_in("mi300x")):
        manager = AMDMemoryManager(AMDConfig(max_memory_fraction=0.5, enable_memory_pooling=False))
    total = 192 * 1024
    assert manager.get_memory_stats().total_mb == total
    assert manager.get_memory_stats().free_mb == total / 2
    assert manager.get_allocation_summary()["limit_mb"] == total / 2
    kept = manager.allocate_tensor((MB,), torch.uint8)
    assert manager.get_memory_stats().free_mb == total / 2 - 1 and kept.device.type == "cpu"
    with pytest.raises(ROCmMemoryError, match="are available"):
        manager.check((total // 2) * MB)


def test_allocations_are_counted_by_purpose(manager: AMDMemoryManager) -> None:
    weights = manager.allocate_tensor((1024, 1024), torch.float32, purpose="weights")
    cache = manager.allocate_tensor((2, 1024, 1024), torch.bfloat16, purpose="kv cache")
    assert weights.shape == (1024, 1024) and cache.dtype == torch.bfloat16 and weights.is_contiguous()
    stats = manager.get_memory_stats()
    assert (stats.allocated_mb, stats.peak_allocated_mb, stats.num_allocations) == (8, 8, 2)
    manager.free_tensor(weights)
    assert weights.numel() == 0
    stats = manager.get_memory_stats()
    assert (stats.allocated_mb, stats.peak_allocated_mb, stats.num_frees) == (4, 8, 1)
    purposes = manager.get_allocation_summary()["by_purpose"]
    assert purposes["weights"] == {"live_tensors": 0, "live_mb": 0, "peak_mb": 4, "allocations": 1}
    assert purposes["kv cache"]["live_mb"] == 4


def test_a_tensor_that_is_dropped_counts_as_freed(manager: AMDMemoryManager) -> None:
    tensor = manager.allocate_tensor(MB, torch.uint8)
    del tensor
    gc.collect()
    assert manager.get_memory_stats().num_frees == 1
    assert manager.get_allocation_summary()["live_tensors"] == 0


def test_the_pool_gives_the_same_block_again(manager: AMDMemoryManager) -> None:
    first = manager.allocate_tensor(4 * MB, torch.uint8)
    pointer = first.data_ptr()
    manager.free_tensor(first)
    pool = manager.get_allocation_summary()["pool"]
    assert pool["kept_mb"] == 4 and pool["reserved_mb"] == 4
    assert manager.get_memory_stats().fragmentation_percent == 100
    second = manager.allocate_tensor((1024, 1024), torch.float32)
    assert second.data_ptr() == pointer and manager.get_allocation_summary()["pool"]["reused"] == 1


def test_a_block_that_is_still_viewed_is_not_given_again(manager: AMDMemoryManager) -> None:
    first = manager.allocate_tensor(4 * MB, torch.uint8)
    view = first[:10].fill_(7)
    manager.free_tensor(first)
    second = manager.allocate_tensor(4 * MB, torch.uint8).fill_(1)
    assert view.tolist() == [7] * 10 and second.data_ptr() != view.data_ptr()
    del view
    third = manager.allocate_tensor(4 * MB, torch.uint8)
    assert manager.get_allocation_summary()["pool"]["reused"] == 1 and third.numel()


def test_the_pool_is_no_larger_than_configured(manager: AMDMemoryManager) -> None:
    kept = [manager.allocate_tensor(24 * MB, torch.uint8) for _ in range(3)]
    pool = manager.get_allocation_summary()["pool"]
    assert pool["capacity_mb"] == 64 and pool["reserved_mb"] == 48
    assert manager.get_memory_stats().reserved_mb == 72 and len(kept) == 3
    for tensor in kept:
        manager.free_tensor(tensor)
    manager.cleanup()
    assert manager.get_memory_stats().reserved_mb == 0


def test_without_pooling_there_is_no_pool() -> None:
    manager = AMDMemoryManager(AMDConfig(enable_memory_pooling=False), device="cpu")
    manager.free_tensor(manager.allocate_tensor(MB, torch.uint8))
    assert manager.get_allocation_summary()["pool"] == {"enabled": False}
    assert manager.get_memory_stats().reserved_mb == 0


def test_what_does_not_fit_is_refused_before_it_is_tried(manager: AMDMemoryManager) -> None:
    with pytest.raises(
        ROCmMemoryError, match=r"allocate_tensor for huge needs .* MB and .* MB are available"
    ) as caught:
        manager.allocate_tensor(2**60, torch.uint8, purpose="huge")
    assert caught.value.details["operation"] == "allocate_tensor for huge"
    assert caught.value.required_mb == 2**40 > caught.value.available_mb > 0
    assert manager.get_memory_stats().num_allocations == 0


def test_max_memory_fraction_is_the_limit() -> None:
    total = host_memory().total_bytes
    tight = AMDMemoryManager(AMDConfig(max_memory_fraction=0.01), device="cpu")
    assert tight.get_memory_stats().free_mb <= 0.01 * total / MB
    with pytest.raises(ROCmMemoryError):
        tight.allocate_tensor(int(0.02 * total), torch.uint8)


def test_running_out_inside_a_block_is_translated_and_leaks_nothing(manager: AMDMemoryManager) -> None:
    seen = []

    def step() -> None:
        held = torch.ones(MB)
        seen.append(weakref.ref(held))
        torch.empty(2**60, dtype=torch.uint8)

    message = r"training step ran out of memory: .*can't allocate"
    with pytest.raises(ROCmMemoryError, match=message), manager.protect("training step"):
        step()
    gc.collect()
    assert seen[0]() is None
    with pytest.raises(ValueError, match="mine"), manager.protect("training step"):
        raise ValueError("mine")


def test_without_protection_nothing_is_refused_or_translated() -> None:
    manager = AMDMemoryManager(AMDConfig(enable_oom_protection=False), device="cpu")
    manager.check(2**60)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        manager.allocate_tensor(2**60, torch.uint8)


@pytest.mark.parametrize("limit", [1, 7, 31, 32])
def test_bisection_finds_the_largest_that_fits(manager: AMDMemoryManager, limit: int) -> None:
    sizes: list[int] = []

    def step(size: int) -> Any:
        sizes.append(size)
        return torch.empty(2**60 if size > limit else 1, dtype=torch.uint8)

    fit = manager.find_batch_size(step, largest=32)
    assert fit.batch_size == limit
    assert [size for size, _ in fit.tried] == sizes and len(sizes) <= 7


def test_bisection_gives_up_and_lets_other_errors_through(manager: AMDMemoryManager) -> None:
    with pytest.raises(ROCmMemoryError, match="a batch of 2 does not fit"):
        manager.find_batch_size(lambda size: torch.empty(2**60), largest=8, smallest=2)
    with pytest.raises(KeyError):
        manager.find_batch_size(lambda size: {}[size], largest=8)
    with pytest.raises(ValueError, match="smallest"):
        manager.find_batch_size(lambda size: None, largest=1, smallest=2)


def test_bisection_over_many_rounds_leaks_nothing(manager: AMDMemoryManager) -> None:
    def step(size: int) -> Any:
        parts = [manager.allocate_tensor(MB, torch.uint8, purpose="batch") for _ in range(size)]
        if size > 3:
            torch.empty(2**60)
        return parts

    for _ in range(2):  # 100 on a GPU, in tests/hw
        assert manager.find_batch_size(step, largest=6).batch_size == 3
    assert manager.get_allocation_summary()["live_tensors"] == 0
    assert manager.get_memory_stats().peak_allocated_mb <= 6


def test_only_what_was_handed_out_is_freed(manager: AMDMemoryManager) -> None:
    with pytest.raises(ValueError, match="not allocated by this memory manager"):
        manager.free_tensor(torch.empty(1))
    tensor = manager.allocate_tensor(4)
    manager.free_tensor(tensor)
    with pytest.raises(ValueError, match="freed already"):
        manager.free_tensor(tensor)


def test_snapshots_need_a_gpu(manager: AMDMemoryManager, tmp_path: Path) -> None:
    with pytest.raises(AMDDeviceError, match="a memory snapshot needs a GPU"):
        manager.save_snapshot(tmp_path / "snapshot.pickle")
    with pytest.raises(AMDDeviceError, match="memory history needs a GPU"):
        manager.record_history()
