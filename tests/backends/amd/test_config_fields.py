"""Every option of AMDConfig changes something: one case per option, and a check that none was forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from kernel_pytorch.backends import notices  # noqa: E402
from kernel_pytorch.backends.amd import AMDBackend, AMDMemoryManager, AMDOptimizer, HIPUtilities, ROCmCompiler  # noqa: E402
from kernel_pytorch.backends.amd.libraries import LibrarySetting, apply_settings  # noqa: E402
from kernel_pytorch.backends.cpu import CPUBackend  # noqa: E402
from kernel_pytorch.core.architecture import AMDArchitecture  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import AMDConfigurationError, ROCmMemoryError, ROCmNotAvailableError  # noqa: E402
from kernel_pytorch.core.platform import using  # noqa: E402
from kernel_pytorch.core.probe import TorchFacts  # noqa: E402
from kernel_pytorch.core.stand_in import recorded, stand_in  # noqa: E402

NO_GPU = recorded(torch=TorchFacts("2.13.0+cpu", None, None))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setattr(notices, "_shown", set())


def settings(gpu: str = "mi300x", **options: Any) -> dict[str, Any]:
    with using(stand_in(gpu)):
        return {setting.key: setting.value for setting in AMDBackend(AMDConfig(**options)).library_settings()}


def precision(gpu: str = "mi300x", **options: Any) -> str:
    with using(stand_in(gpu)):
        return AMDBackend(AMDConfig(**options)).precision.name


def fits(nbytes: int, **options: Any) -> bool:
    try:
        AMDMemoryManager(AMDConfig(**options), device="cpu").check(nbytes)
    except ROCmMemoryError:
        return False
    return True


def architecture() -> None:
    assert ROCmCompiler(AMDConfig(architecture=AMDArchitecture.RDNA4)).target().target == "gfx1201"
    assert AMDBackend(AMDConfig(architecture=AMDArchitecture.CDNA3)).precision.name == "bf16"
    assert AMDBackend(AMDConfig(architecture=AMDArchitecture.RDNA3)).precision.name == "fp32"


def device_id() -> None:
    with using(stand_in("mi300x", count=4)):
        assert [str(AMDBackend(AMDConfig(device_id=number)).device) for number in (0, 3)] == ["cuda:0", "cuda:3"]


def optimization_level() -> None:
    assert settings(optimization_level="balanced")["tunable.tuning"] is True
    assert settings(optimization_level="conservative")["tunable.tuning"] is False


def enable_matrix_cores() -> None:
    assert precision(enable_matrix_cores=True) == "bf16"
    assert precision(enable_matrix_cores=False) == "fp32"
    assert precision(enable_matrix_cores=False, default_precision="bf16") == "bf16", "what the caller set stays"


def enable_mixed_precision() -> None:
    for mixed, dtype in ((True, torch.float32), (False, torch.bfloat16)):
        config = AMDConfig(enable_mixed_precision=mixed, default_precision="bf16")
        assert CPUBackend(config).prepare_model(nn.Linear(2, 2)).weight.dtype == dtype


def enable_memory_pooling() -> None:
    for pooling in (True, False):
        manager = AMDMemoryManager(AMDConfig(enable_memory_pooling=pooling), device="cpu")
        manager.free_tensor(manager.allocate_tensor(2**20))
        assert (manager.get_memory_stats().reserved_mb > 0) == pooling


def memory_pool_size_gb() -> None:
    for size, reserved in ((1.0, 4), (1 / 1024, 0)):
        manager = AMDMemoryManager(AMDConfig(memory_pool_size_gb=size), device="cpu")
        tensor = manager.allocate_tensor(2**20)
        assert manager.get_allocation_summary()["pool"]["reserved_mb"] == reserved and tensor.numel()


def max_memory_fraction() -> None:
    part = int(0.02 * AMDMemoryManager(device="cpu").get_memory_stats().total_mb * 2**20)
    assert fits(part, max_memory_fraction=0.9) and not fits(part, max_memory_fraction=0.01)


def hip_kernel_cache_enabled() -> None:
    assert ROCmCompiler(AMDConfig(hip_kernel_cache_enabled=False)).cache is None
    assert ROCmCompiler(AMDConfig(hip_kernel_cache_enabled=True)).cache is not None


def hip_compiler_cache_size() -> None:
    cache = ROCmCompiler(AMDConfig(hip_compiler_cache_size=7)).cache
    assert cache is not None and cache.max_entries == 7


def hip_compiler_cache_dir() -> None:
    file = Path(settings(hip_compiler_cache_dir="/x/y")["tunable.filename"])
    assert file.parent == Path(f"/x/y/kpt-tunableop-v1-u{os.geteuid()}")  # of this user, and of no other
    assert file.name == f"gfx942_{torch.__version__}_%d.csv"  # and of this torch
    cache = ROCmCompiler(AMDConfig(hip_compiler_cache_dir="/tmp/kpt-elsewhere")).cache
    assert cache is not None and str(cache.directory).startswith("/tmp/kpt-elsewhere")


def rocblas_enabled() -> None:
    assert "blas" not in settings() and settings(rocblas_enabled=False)["blas"] == "cublaslt"
    with using(stand_in("mi100")), pytest.raises(AMDConfigurationError, match="hipBLASLt, the alternative, is not for"):
        AMDBackend(AMDConfig(rocblas_enabled=False)).library_settings()


def enable_rocblas_tuning() -> None:
    assert settings()["tunable.enabled"] is True
    assert not any(key.startswith("tunable") for key in settings(enable_rocblas_tuning=False))


def miopen_enabled() -> None:
    assert "cudnn.enabled" not in settings() and settings(miopen_enabled=False)["cudnn.enabled"] is False


def miopen_find_mode() -> None:
    assert settings()["env:MIOPEN_FIND_MODE"] == "NORMAL"
    assert settings(miopen_find_mode="HYBRID")["env:MIOPEN_FIND_MODE"] == "HYBRID"


def default_precision() -> None:
    assert [precision(default_precision=name) for name in ("fp32", "fp16", "bf16")] == ["fp32", "fp16", "bf16"]


def allow_fp16() -> None:
    assert precision("mi250x") == "fp16" and precision("mi250x", allow_fp16=False) == "bf16"
    assert precision("mi250x", allow_fp16=False, allow_bf16=False) == "fp32"


def allow_bf16() -> None:
    assert precision(allow_bf16=False) == "fp16"


def enable_profiling() -> None:
    for enabled in (True, False):
        utils = HIPUtilities(AMDConfig(enable_profiling=enabled), device="cpu")
        with utils.profile_region("region"):
            pass
        assert ("region" in utils.get_profiling_summary()["regions"]) == enabled


def enable_strict_validation() -> None:
    with using(NO_GPU):
        assert str(AMDBackend(AMDConfig()).device) == "cpu"
        with pytest.raises(ROCmNotAvailableError):
            AMDBackend(AMDConfig(enable_strict_validation=True))


def enable_oom_protection() -> None:
    assert not fits(2**60) and fits(2**60, enable_oom_protection=False)


def enable_operator_fusion() -> None:
    for fusion in (True, False):
        model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).eval()
        optimizer = AMDOptimizer(AMDConfig(enable_operator_fusion=fusion))
        optimizer.optimize(model, "balanced", torch.randn(2, 3, 4, 4))
        assert bool(optimizer.get_optimization_summary()["fused_operations"]) == fusion


CASES: dict[str, Callable[[], None]] = {
    item.name: globals()[item.name] for item in fields(AMDConfig) if item.init and item.name in globals()
}


@pytest.mark.parametrize("name", CASES)
def test_option_changes_something(name: str) -> None:
    CASES[name]()


def test_no_option_is_forgotten() -> None:
    assert CASES.keys() == {item.name for item in fields(AMDConfig) if item.init}


def test_what_has_no_effect_on_a_cpu_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    config = AMDConfig(miopen_find_mode="FAST", rocblas_enabled=False, device_id=3)
    with using(NO_GPU):
        AMDBackend(config)
        AMDBackend(config)
    for option in ("miopen_find_mode", "rocblas_enabled", "device_id"):
        assert sum(f"AMDConfig.{option} has no effect here" in line for line in caplog.messages) == 1
    assert not any("miopen_enabled" in line for line in caplog.messages)


def test_the_find_mode_is_exported_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIOPEN_FIND_MODE", raising=False)
    setting = LibrarySetting("env:MIOPEN_FIND_MODE", "FAST", "miopen_find_mode", "")
    undo = apply_settings((setting,))
    assert os.environ["MIOPEN_FIND_MODE"] == "FAST"
    undo.pop()()
    assert "MIOPEN_FIND_MODE" not in os.environ


def test_a_variable_of_the_environment_stays(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("MIOPEN_FIND_MODE", "NORMAL")
    assert apply_settings((LibrarySetting("env:MIOPEN_FIND_MODE", "FAST", "miopen_find_mode", ""),)) == []
    assert os.environ["MIOPEN_FIND_MODE"] == "NORMAL"
    assert "AMDConfig.miopen_find_mode has no effect" in caplog.text


def test_switches_of_torch_are_undone(tmp_path: Path) -> None:
    before = torch.backends.cudnn.enabled
    undo = apply_settings((LibrarySetting("cudnn.enabled", not before, "miopen_enabled", ""),))
    assert torch.backends.cudnn.enabled is not before
    undo.pop()()
    assert torch.backends.cudnn.enabled is before
