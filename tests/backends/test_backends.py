"""Choosing a back end, the protocol, and the CPU fallback."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.backends import get_backend, notices  # noqa: E402
from kernel_pytorch.backends.amd import AMDBackend  # noqa: E402
from kernel_pytorch.backends.base import Backend  # noqa: E402
from kernel_pytorch.backends.cpu import CPUBackend  # noqa: E402
from kernel_pytorch.backends.nvidia import NVIDIABackend  # noqa: E402
from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig  # noqa: E402
from kernel_pytorch.core.errors import (  # noqa: E402
    AMDBackendError,
    AMDDeviceError,
    ROCmNotAvailableError,
    UsageError,
)
from kernel_pytorch.core.platform import using  # noqa: E402
from kernel_pytorch.core.probe import TorchFacts  # noqa: E402
from kernel_pytorch.core.stand_in import recorded, stand_in  # noqa: E402
from kernel_pytorch.models.precision import tolerance  # noqa: E402

NO_GPU = recorded(torch=TorchFacts("2.13.0+cpu", None, None))
KEYS = {
    "device_type",
    "name",
    "architecture",
    "total_memory_gb",
    "matrix_cores_available",
    "rocm_available",
    "gfx_target",
    "wave_size",
    "compute_units",
}


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(notices, "_shown", set())


@pytest.mark.parametrize("kind", [AMDBackend, NVIDIABackend, CPUBackend])
def test_every_backend_keeps_the_protocol_on_a_cpu(kind: Any) -> None:
    with using(NO_GPU), kind() as backend:
        assert isinstance(backend, Backend)
        assert backend.device == torch.device("cpu")
        info = backend.get_device_info()
        assert info.keys() >= KEYS
        assert info["device_type"] == "cpu" and info["wave_size"] is None and info["total_memory_gb"] > 0
        assert not info["rocm_available"] and not info["matrix_cores_available"]
        assert [one["device"] for one in backend.get_all_devices()] == ["cpu"]
        backend.synchronize()
        backend.cleanup()
    assert backend.is_available() == (kind is CPUBackend)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (TorchFacts("2.13.0+cpu", None, None), "is a CPU build"),
        (TorchFacts("2.11.0+cu130", None, "13.0"), "is a CUDA build"),
        (TorchFacts("2.10.0+rocm7.1", "7.1.5", None), "sees no device"),
    ],
)
def test_the_fallback_says_why_once(facts: TorchFacts, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    with using(recorded(torch=facts)):
        backend = AMDBackend()
        AMDBackend()
        assert reason in backend.fallback_reason and reason in backend.get_device_info()["fallback_reason"]
        with pytest.raises(ROCmNotAvailableError, match=reason):
            AMDBackend(AMDConfig(enable_strict_validation=True))
    assert sum(reason in line for line in caplog.messages) == 1


def test_a_gpu_that_torch_was_not_built_for_is_named() -> None:
    files = {
        "/sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 8\nsimd_per_cu 4\ngfx_target_version 90402\n"
    }
    with using(recorded(files=files, torch=TorchFacts("2.13.0+cpu", None, None))):
        assert "an AMD GPU (gfx942) is here: install a ROCm build" in AMDBackend().fallback_reason


def test_strict_nvidia_refuses_too() -> None:
    config = KernelPyTorchConfig(amd=AMDConfig(enable_strict_validation=True))
    with using(NO_GPU), pytest.raises(AMDDeviceError, match="CUDA is not available"):
        NVIDIABackend(config)


@pytest.mark.parametrize(
    ("gpu", "device", "config", "expected", "where"),
    [
        (None, None, None, "cpu", "cpu"),
        ("mi300x", None, None, "amd", "cuda:0"),
        ("h200", None, None, "nvidia", "cuda:0"),
        ("mi250x", "cuda:1", None, "amd", "cuda:1"),
        ("h200", "cuda", None, "nvidia", "cuda:0"),
        ("mi300x", "cpu", None, "cpu", "cpu"),
        ("mi300x", None, KernelPyTorchConfig(backend="cpu"), "cpu", "cpu"),
        ("h200", None, KernelPyTorchConfig(backend="amd"), "amd", "cpu"),
        ("mi250x", "amd", KernelPyTorchConfig(device_id=1), "amd", "cuda:1"),
    ],
)
def test_get_backend(gpu: str | None, device: Any, config: Any, expected: str, where: str) -> None:
    with using(stand_in(gpu) if gpu else NO_GPU):
        backend = get_backend(device, config)
    assert (backend.vendor, str(backend.device)) == (expected, where)


def test_get_backend_refuses_what_it_does_not_know() -> None:
    with pytest.raises(UsageError, match="unknown device 'tpu'"):
        get_backend("tpu")


def test_a_device_index_does_not_decide_what_the_architecture_should() -> None:
    with using(stand_in("mi250x")):
        assert get_backend("amd:1").precision.name == "fp16"


def test_a_device_that_is_not_there() -> None:
    with using(stand_in("mi250x")), pytest.raises(AMDDeviceError, match=r"device_id=2, but this machine shows 2"):
        AMDBackend(AMDConfig(device_id=2))


def test_each_rank_takes_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_RANK", "5")
    with using(stand_in("mi300x", count=8)):
        assert str(AMDBackend().device) == "cuda:5"
    with using(stand_in("mi300x", count=4)), pytest.raises(AMDDeviceError, match="local rank 5 has no GPU of its own"):
        AMDBackend()


def test_nothing_is_run_on_a_machine_that_stands_in() -> None:
    model = torch.nn.Linear(2, 2)
    with using(stand_in("mi300x")), pytest.raises(AMDDeviceError, match="is stood in for"):
        AMDBackend().prepare_model(model)
    assert model.weight.device.type == "cpu"


def test_a_wrong_configuration_object() -> None:
    with pytest.raises(AMDBackendError, match="takes an AMDConfig, not dict"):
        AMDBackend({"device_id": 0})  # type: ignore[arg-type]


def test_tolerances_widen_with_the_precision() -> None:
    assert tolerance("fp32") < tolerance("fp16") < tolerance(torch.bfloat16)
    with pytest.raises(ValueError, match="no tolerance for"):
        tolerance(torch.int8)
