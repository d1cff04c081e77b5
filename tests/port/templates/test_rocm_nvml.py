"""The pynvml twin over a stand-in amdsmi that answers as AMD's documents say."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from kernel_pytorch.port.templates import rocm_nvml as nvml


class AmdSmiException(Exception):
    pass


def amdsmi(**answers: Any) -> types.ModuleType:
    """A module with amdsmi's functions; a given answer replaces one."""
    known = {
        "amdsmi_init": None,
        "amdsmi_shut_down": None,
        "amdsmi_get_processor_handles": ["first", "second"],
        "amdsmi_get_gpu_memory_total": 100,
        "amdsmi_get_gpu_memory_usage": 30,
        "amdsmi_get_gpu_activity": {"gfx_activity": 71, "umc_activity": 12, "mm_activity": "N/A"},
        "amdsmi_get_temp_metric": 55,
        "amdsmi_get_power_info": {"current_socket_power": "N/A", "average_socket_power": 240},
        "amdsmi_get_power_cap_info": {"power_cap": 750_000_000},
        "amdsmi_get_gpu_asic_info": {"market_name": "AMD Instinct MI300X"},
        "amdsmi_get_gpu_device_uuid": "id-0",
        "amdsmi_get_gpu_driver_info": {"driver_version": "6.10"},
    } | answers
    module = types.ModuleType("amdsmi")

    def answering(value: Any) -> Any:
        def function(*arguments: Any) -> Any:
            if isinstance(value, Exception):
                raise value
            return value

        return function

    for name, value in known.items():
        setattr(module, name, answering(value))
    module.AmdSmiException = AmdSmiException  # type: ignore[attr-defined]
    for kind, member in (("MemoryType", "VRAM"), ("TemperatureType", "HOTSPOT"), ("TemperatureMetric", "CURRENT")):
        setattr(module, f"AmdSmi{kind}", types.SimpleNamespace(**{member: member}))
    return module


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(nvml, "_amdsmi", None)
    yield


def test_the_common_questions_in_nvmls_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", amdsmi())
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    assert handle == "second" and nvml.nvmlDeviceGetCount() == 2
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    assert (memory.total, memory.free, memory.used) == (100, 70, 30)
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    assert (rates.gpu, rates.memory) == (71, 12)
    assert nvml.nvmlDeviceGetPowerUsage(handle) == 240_000
    assert nvml.nvmlDeviceGetEnforcedPowerLimit(handle) == 750_000
    assert nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU) == 55
    assert nvml.nvmlDeviceGetName(handle) == "AMD Instinct MI300X"
    assert nvml.nvmlSystemGetDriverVersion() == "6.10" and nvml.nvmlDeviceGetUUID(handle) == "id-0"
    nvml.nvmlShutdown()
    with pytest.raises(nvml.NVMLError, match="nvmlInit"):
        nvml.nvmlDeviceGetCount()


def test_what_is_missing_is_an_nvml_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    with pytest.raises(nvml.NVMLError_LibraryNotFound):
        nvml.nvmlInit()
    monkeypatch.setitem(
        sys.modules,
        "amdsmi",
        amdsmi(amdsmi_get_temp_metric=AmdSmiException("no sensor"), amdsmi_get_gpu_activity={"gfx_activity": "N/A"}),
    )
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(nvml.NVMLError_NotSupported, match="no sensor"):
        nvml.nvmlDeviceGetTemperature(handle)
    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetUtilizationRates(handle)
    with pytest.raises(nvml.NVMLError, match="GPU 7 of 2"):
        nvml.nvmlDeviceGetHandleByIndex(7)
