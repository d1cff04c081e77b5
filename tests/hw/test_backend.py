"""The backends on a real GPU: what holds on either vendor's, and what only one of them has."""

from __future__ import annotations

import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from examples.train import Transformer, batch
from kernel_pytorch.backends import amd, get_backend
from kernel_pytorch.backends.amd import AMDBackend, AMDMemoryManager, HIPUtilities
from kernel_pytorch.backends.amd.libraries import LibrarySetting, apply_settings
from kernel_pytorch.backends.cpu import CPUBackend
from kernel_pytorch.backends.nvidia import NVIDIABackend
from kernel_pytorch.core.cache_folder import own_name
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import (
    AMDBackendError,
    AMDConfigurationError,
    MatrixCoreError,
    ROCmMemoryError,
    ROCmNotAvailableError,
)
from kernel_pytorch.core.hardware import base_target, target
from kernel_pytorch.models.memory import is_out_of_memory
from tests.backends.seed_blocks import BLOCKS, RAISES, needs_optimizer, run_block

STEPS, CHUNK = 200, 20


@dataclass(frozen=True)
class Vendor:
    """The back end under test."""

    name: str
    backend: Callable[..., Any]


@pytest.fixture
def vendor(gpu: str) -> Vendor:
    return Vendor(gpu, {"amd": AMDBackend, "nvidia": NVIDIABackend}[gpu])


def test_the_backend_knows_its_device(vendor: Vendor) -> None:
    with vendor.backend() as backend:
        info = backend.get_device_info()
        assert backend.is_available() and backend.device.type == "cuda" and info["backend"] == vendor.name
        assert info["name"] == torch.cuda.get_device_name(backend.device)
        assert info["compute_units"] == torch.cuda.get_device_properties(backend.device).multi_processor_count
        assert len(backend.get_all_devices()) == torch.cuda.device_count()
        assert get_backend().vendor == vendor.name and get_backend("cuda:0").vendor == vendor.name
        print("     ", info)


def test_every_seed_block(vendor: Vendor) -> None:
    has_optimizer = "AMDOptimizer" in amd._HOME
    ran = skipped = 0
    for name in BLOCKS:
        if needs_optimizer(name) and not has_optimizer:
            skipped += 1
            continue
        try:
            run_block(name)
        except AMDBackendError as error:
            assert type(error).__name__ == RAISES.get(name), f"{name}: {error!r}"
        else:
            assert name not in RAISES, name
        ran += 1
    print(f"      {ran} blocks ran, {skipped} wait for AMDOptimizer")


def test_fp32_inputs_work_in_training_and_inference(vendor: Vendor) -> None:
    for options in ({}, {"enable_mixed_precision": False}, {"default_precision": "fp16"}):
        with vendor.backend(AMDConfig(**options)) as backend:
            model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.LazyLinear(4))
            model(torch.randn(2, 3, 8, 8))
            keys = list(model.state_dict())
            model = backend.prepare_model(model)
            x = torch.randn(2, 3, 8, 8, device=backend.device)
            y = model(x)
            nn.functional.mse_loss(y, torch.zeros_like(y, dtype=torch.float32)).backward()
            assert y.dtype == torch.float32 and list(model.state_dict()) == keys
            assert all(parameter.grad is not None for parameter in model.parameters())
            with torch.no_grad():
                assert model.eval()(x).isfinite().all()


def _train(model: nn.Module, device: Any, data: list[Any], autocast: bool) -> Callable[[int], float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    def step(number: int) -> torch.Tensor:
        rows = data[number % len(data)]
        optimizer.zero_grad()
        if autocast:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(rows[:, :-1])
        else:
            logits = model(rows[:, :-1])
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def test_a_bf16_training_loop_equals_plain_torch(vendor: Vendor) -> None:
    with vendor.backend(AMDConfig(default_precision="bf16")) as backend:
        generator = torch.Generator().manual_seed(1)
        data = [batch(32, 256, generator).to(backend.device) for _ in range(STEPS)]
        torch.manual_seed(0)
        plain = Transformer(512, 6, 256)
        ours = Transformer(512, 6, 256)
        ours.load_state_dict(plain.state_dict())
        plain.to(backend.device)
        ours = backend.prepare_model(ours)
        steps = {"plain": _train(plain, backend.device, data, True), "ours": _train(ours, backend.device, data, False)}
        losses: dict[str, list[torch.Tensor]] = {"plain": [], "ours": []}
        seconds: dict[str, list[float]] = {"plain": [], "ours": []}
        for chunk in range(STEPS // CHUNK):
            # Interleaved, and each first in turn: a slow moment hits both.
            for name in sorted(steps, reverse=bool(chunk % 2)):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
                    losses[name].append(steps[name](number))
                torch.cuda.synchronize()
                seconds[name].append(time.perf_counter() - start)
        a, b = (torch.stack(losses[name]).float().cpu() for name in ("plain", "ours"))
        ratio = statistics.median(p / o for p, o in zip(seconds["plain"][1:], seconds["ours"][1:], strict=True))
        worst = (a - b).abs().max().item()
        ms = {name: statistics.median(values[1:]) / CHUNK * 1e3 for name, values in seconds.items()}
        ends = f"plain {a[-1]:.4f}, ours {b[-1]:.4f}"
        print(f"      {STEPS} steps: loss {a[0]:.4f} -> {ends}, largest difference {worst:.2e}")
        print(f"      step {ms['plain']:.2f} ms plain, {ms['ours']:.2f} ms ours, speed ratio {ratio:.3f}")
        assert b[-1] < 0.9 * b[0] and worst < 2e-2


def test_a_checkpoint_goes_to_the_cpu_and_back(vendor: Vendor) -> None:
    with vendor.backend(AMDConfig(default_precision="bf16")) as backend:
        torch.manual_seed(0)
        model = backend.prepare_model(Transformer(64, 2, 16))
        state = {key: value.cpu() for key, value in model.state_dict().items()}
        other = CPUBackend().prepare_model(Transformer(64, 2, 16))
        other.load_state_dict(state)
        ids = torch.randint(0, 64, (2, 16))
        near = (other(ids) - model(ids.to(backend.device)).cpu()).abs().max().item()
        assert near < 0.1, near


def test_compile_keeps_the_keys_and_the_numbers(vendor: Vendor) -> None:
    with vendor.backend(AMDConfig(default_precision="bf16")) as backend:
        torch.manual_seed(0)
        model = backend.prepare_model(Transformer(64, 2, 16).eval())
        ids = torch.randint(0, 64, (2, 16), device=backend.device)
        with torch.no_grad():
            before, keys = model(ids), list(model.state_dict())
            model = backend.prepare_model(model, compile=True)
            torch.testing.assert_close(model(ids), before, rtol=5e-2, atol=5e-2)
        assert list(model.state_dict()) == keys


def test_memory_is_pooled_counted_and_limited(vendor: Vendor) -> None:
    with AMDMemoryManager(AMDConfig(memory_pool_size_gb=0.5, max_memory_fraction=0.5), device="cuda:0") as manager:
        before = manager.get_memory_stats()
        tensor = manager.allocate_tensor((64, 1024, 1024), torch.float32, purpose="weights")
        after = manager.get_memory_stats()
        assert after.allocated_mb - before.allocated_mb >= 255 and after.num_allocations > before.num_allocations
        pool = manager.get_allocation_summary()["pool"]
        assert pool["kind"] == "torch.cuda.MemPool" and pool["reserved_mb"] >= 256
        pointer = tensor.data_ptr()
        manager.free_tensor(tensor)
        assert manager.get_memory_stats().num_frees > after.num_frees
        again = manager.allocate_tensor((64, 1024, 1024), torch.float32)
        assert again.data_ptr() == pointer, "the pool keeps its blocks"
        outside = manager.allocate_tensor((96, 1024, 1024), torch.float32)  # beyond the pool's half gigabyte
        assert manager.get_allocation_summary()["pool"]["reserved_mb"] < 600 and outside.numel()
        half = int(0.6 * manager.get_memory_stats().total_mb) * 2**20
        try:
            manager.allocate_tensor(half, torch.uint8)
        except ROCmMemoryError as error:
            assert error.details["required_mb"] > error.details["available_mb"] > 0
        else:
            raise AssertionError("more than max_memory_fraction was given out")


def test_running_out_of_memory_leaks_nothing_in_100_rounds(vendor: Vendor) -> None:
    with AMDMemoryManager(AMDConfig(max_memory_fraction=0.9), device="cuda:0") as manager:
        row = 2 * 2**30  # bytes one sample takes
        most = int(manager.get_memory_stats().free_mb * 2**20) // row

        def step(size: int) -> Any:
            parts = [torch.empty(row, dtype=torch.uint8, device="cuda:0") for _ in range(size)]
            return parts[-1]

        def too_much() -> None:
            with manager.protect("a training step"):
                step(2 * most)

        def stated() -> None:
            with manager.protect("a training step", 2 * most * row):
                raise AssertionError("a step that cannot fit was begun")

        torch.cuda.empty_cache()
        base = torch.cuda.memory_allocated()
        refused = 0
        fits = set()
        for number in range(100):
            try:
                (too_much if number % 2 else stated)()
            except ROCmMemoryError:
                refused += 1
            if number % 20 == 0:
                fits.add(manager.find_batch_size(step, largest=2 * most).batch_size)
            assert torch.cuda.memory_allocated() == base, f"round {number} leaked"
        gc.collect()
        assert refused == 100 and len(fits) == 1 and 0 < most - min(fits) + 1 <= 8, (refused, fits, most)
        print(f"      100 of 100 refused, batch {fits.pop()} found by bisection (at most {most}), 0 bytes leaked")


def test_without_protection_the_device_fails_itself(vendor: Vendor) -> None:
    with AMDMemoryManager(AMDConfig(enable_oom_protection=False), device="cuda:0") as manager:
        total = int(manager.get_memory_stats().total_mb) * 2**20
        try:
            manager.allocate_tensor(2 * total, torch.uint8)
        except torch.OutOfMemoryError as error:
            assert is_out_of_memory(error)
        else:
            raise AssertionError("twice the device's memory was given out")


def test_a_snapshot_for_the_viewer(vendor: Vendor) -> None:
    with AMDMemoryManager(AMDConfig(), device="cuda:0") as manager, tempfile.TemporaryDirectory() as folder:
        manager.record_history()
        kept = manager.allocate_tensor((1024, 1024))
        path = manager.save_snapshot(Path(folder) / "memory.pickle")
        assert path.stat().st_size > 1000 and kept.numel()


def test_regions_have_device_and_host_times(vendor: Vendor) -> None:
    with HIPUtilities(AMDConfig(enable_profiling=True), device="cuda:0") as utils:
        a = torch.randn(8192, 8192, device="cuda:0")
        (a @ a).sum().item()
        for _ in range(3):
            with utils.profile_region("outer"), utils.profile_region("inner"):
                b = a @ a
        region = utils.get_profiling_summary()["regions"]["inner"]
        assert region["count"] == 3 and b.numel()
        # Launching does not wait for the product: the device takes longer than the host.
        assert region["device_avg_ms"] > region["host_min_ms"] > 0 and region["avg_ms"] == region["device_avg_ms"]
        with tempfile.TemporaryDirectory() as folder:
            text = utils.export_chrome_trace(Path(folder) / "trace.json").read_text()
        events = [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]
        assert {event["cat"] for event in events} == {"host", "device"} and len(events) == 12
        print(f"      product: device {region['device_avg_ms']:.3f} ms, host {region['host_avg_ms']:.3f} ms")


def test_streams_and_events(vendor: Vendor) -> None:
    with HIPUtilities(AMDConfig(), device="cuda:0") as utils:
        least, first = torch.cuda.Stream.priority_range()
        utils.create_stream("compute", priority=first)
        assert utils.create_stream("compute", priority=first) is utils.get_stream("compute")
        try:
            utils.create_stream("wrong", priority=least + 1)
        except AMDConfigurationError:
            pass
        else:
            raise AssertionError("a priority outside the range was taken")
        x = torch.ones(1 << 24, device="cuda:0")
        start, end = utils.create_event("start"), utils.create_event("end")
        start.record()
        with utils.use_stream("compute"):
            y = x * 2
        assert float((y + x).sum()) == 3 * (1 << 24)
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) > 0 and utils.on_every_device(lambda device: device.index) == list(
            range(torch.cuda.device_count())
        )


def test_library_switches_are_set_and_undone(vendor: Vendor) -> None:
    tunable, cudnn = torch.cuda.tunable, torch.backends.cudnn
    with tempfile.TemporaryDirectory() as folder:
        name = str(Path(folder) / own_name("tunableop") / "tuned_%d.csv")
        before = (cudnn.enabled, tunable.is_enabled(), tunable.tuning_is_enabled(), tunable.get_filename())
        undo = apply_settings(
            (
                LibrarySetting("cudnn.enabled", False, "miopen_enabled", ""),
                LibrarySetting("blas", "cublaslt", "rocblas_enabled", ""),
                LibrarySetting("tunable.filename", name, "hip_compiler_cache_dir", ""),
                LibrarySetting("tunable.enabled", True, "enable_rocblas_tuning", ""),
                LibrarySetting("tunable.tuning", False, "optimization_level", ""),
            )
        )
        set_now = (cudnn.enabled, tunable.is_enabled(), tunable.tuning_is_enabled(), tunable.get_filename())
        assert set_now == (False, True, False, name % 0), set_now
        while undo:
            undo.pop()()
        assert (cudnn.enabled, tunable.is_enabled(), tunable.tuning_is_enabled(), tunable.get_filename()) == before


def test_cleanup_restores_the_memory_limit(vendor: Vendor) -> None:
    if not hasattr(torch.cuda, "get_per_process_memory_fraction"):
        return
    before = torch.cuda.get_per_process_memory_fraction(0)
    with vendor.backend(AMDConfig(max_memory_fraction=0.25)):
        assert torch.cuda.get_per_process_memory_fraction(0) == 0.25
    assert torch.cuda.get_per_process_memory_fraction(0) == before


@pytest.mark.nvidia
def test_amd_backend_falls_back_or_refuses() -> None:
    backend = AMDBackend()
    assert backend.device.type == "cpu" and "CUDA build" in backend.fallback_reason
    try:
        AMDBackend(AMDConfig(enable_strict_validation=True))
    except ROCmNotAvailableError as error:
        assert "CUDA build" in str(error)
    else:
        raise AssertionError("strict validation let a machine without ROCm pass")


@pytest.mark.nvidia
def test_tensor_cores_are_used_by_default() -> None:
    with NVIDIABackend() as backend:
        assert backend.precision.name == ("bf16" if torch.cuda.get_device_capability() >= (8, 0) else "fp32")


@pytest.mark.amd
def test_the_architecture_is_that_of_the_gfx_target() -> None:
    with AMDBackend() as backend:
        name = base_target(torch.cuda.get_device_properties(backend.device).gcnArchName)
        info = backend.get_device_info()
        assert info["gfx_target"] == name and info["architecture"] == target(name).arch.lower()
        assert info["wave_size"] == target(name).wave_size and info["rocm_available"]
        assert backend.config.architecture is target(name).amd_architecture


@pytest.mark.amd
def test_library_settings_are_applied() -> None:
    before = torch.cuda.tunable.is_enabled()
    with AMDBackend(AMDConfig(optimization_level="conservative", miopen_enabled=False)):
        assert torch.cuda.tunable.is_enabled() and not torch.cuda.tunable.tuning_is_enabled()
        assert not torch.backends.cudnn.enabled
    assert torch.cuda.tunable.is_enabled() == before and torch.backends.cudnn.enabled


@pytest.mark.amd
def test_a_gemm_in_fp8_is_allowed_by_architecture() -> None:
    with AMDBackend() as backend:
        if backend.target is not None and backend.target.fp8_format:
            assert str(backend.fp8_dtype()) == f"torch.float8_{backend.target.fp8_format}"
            return
        try:
            backend.fp8_dtype()
        except MatrixCoreError:
            return
        raise AssertionError("FP8 was allowed on a GPU without it")
