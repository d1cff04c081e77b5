# ruff: noqa: N801, N802  (the names are pynvml's)
"""The part of pynvml that programs read GPUs with, answered by AMD's amdsmi.

Written by `kpt port`; imports nothing of it, and is imported on ROCm only. amdsmi comes with ROCm
(/opt/rocm/share/amd_smi). Units are NVML's: bytes, percent, degrees Celsius, milliwatts. What amdsmi does not know
raises NVMLError, as NVML does for what a GPU does not support.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NVML_TEMPERATURE_GPU = 0
NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_UNKNOWN = 999


class NVMLError(Exception):
    """What pynvml raises. `value` is NVML's number of the error."""

    def __init__(self, value: int = NVML_ERROR_UNKNOWN, message: str = "") -> None:
        super().__init__(message or f"NVML error {value}")
        self.value = value


class NVMLError_NotSupported(NVMLError):
    """The GPU, or amdsmi, does not tell."""


class NVMLError_LibraryNotFound(NVMLError):
    """amdsmi is not installed."""


@dataclass(frozen=True)
class Memory:
    """Bytes of GPU memory."""

    total: int
    free: int
    used: int


@dataclass(frozen=True)
class Utilization:
    """Percent of the last sampling period in which the GPU, and its memory, were busy."""

    gpu: int
    memory: int


_amdsmi: Any = None


def _asked(question: Callable[[Any], Any]) -> Any:
    if _amdsmi is None:
        raise NVMLError(NVML_ERROR_UNINITIALIZED, "nvmlInit was not called")
    try:
        answer = question(_amdsmi)
    except (_amdsmi.AmdSmiException, AttributeError, KeyError) as error:
        raise NVMLError_NotSupported(NVML_ERROR_NOT_SUPPORTED, f"amdsmi: {error}") from error
    if answer is None or answer == "N/A":
        raise NVMLError_NotSupported(NVML_ERROR_NOT_SUPPORTED, "amdsmi does not know")
    return answer


def nvmlInit() -> None:
    """Starts amdsmi."""
    global _amdsmi
    try:
        import amdsmi  # type: ignore[import-not-found]
    except Exception as error:  # its native library fails in ways of its own
        raise NVMLError_LibraryNotFound(NVML_ERROR_LIBRARY_NOT_FOUND, f"amdsmi cannot be used: {error}") from error
    try:
        amdsmi.amdsmi_init()
    except amdsmi.AmdSmiException as error:
        raise NVMLError(NVML_ERROR_UNKNOWN, f"amdsmi: {error}") from error
    _amdsmi = amdsmi


def nvmlInitWithFlags(flags: int) -> None:
    """Starts amdsmi; NVML's flags mean nothing to it."""
    nvmlInit()


def nvmlShutdown() -> None:
    """Ends amdsmi."""
    global _amdsmi
    _asked(lambda smi: smi.amdsmi_shut_down() or True)
    _amdsmi = None


def nvmlDeviceGetCount() -> int:
    """Number of GPUs."""
    return len(_asked(lambda smi: smi.amdsmi_get_processor_handles()))


def nvmlDeviceGetHandleByIndex(index: int) -> Any:
    """The handle of a GPU, counted as amd-smi counts: no *_VISIBLE_DEVICES is looked at."""
    handles = _asked(lambda smi: smi.amdsmi_get_processor_handles())
    if not 0 <= index < len(handles):
        raise NVMLError(2, f"GPU {index} of {len(handles)}")
    return handles[index]


def nvmlDeviceGetMemoryInfo(handle: Any, version: Any = None) -> Memory:
    """Total, free and used bytes."""
    total = int(_asked(lambda smi: smi.amdsmi_get_gpu_memory_total(handle, smi.AmdSmiMemoryType.VRAM)))
    used = int(_asked(lambda smi: smi.amdsmi_get_gpu_memory_usage(handle, smi.AmdSmiMemoryType.VRAM)))
    return Memory(total, total - used, used)


def nvmlDeviceGetUtilizationRates(handle: Any) -> Utilization:
    """How busy the GPU and its memory are."""
    activity = _asked(lambda smi: smi.amdsmi_get_gpu_activity(handle))
    gpu, memory = (_asked(lambda smi, name=name: activity[name]) for name in ("gfx_activity", "umc_activity"))  # type: ignore[misc]
    return Utilization(int(gpu), int(memory))


def nvmlDeviceGetTemperature(handle: Any, sensor: int = NVML_TEMPERATURE_GPU) -> int:
    """Degrees Celsius at the hottest place of the chip."""
    return int(
        _asked(
            lambda smi: smi.amdsmi_get_temp_metric(
                handle, smi.AmdSmiTemperatureType.HOTSPOT, smi.AmdSmiTemperatureMetric.CURRENT
            )
        )
    )


def nvmlDeviceGetPowerUsage(handle: Any) -> int:
    """Milliwatts. Newer GPUs tell the current power, older ones an average."""
    power = _asked(lambda smi: smi.amdsmi_get_power_info(handle))
    for name in ("current_socket_power", "average_socket_power", "socket_power"):
        if isinstance(power.get(name), (int, float)):
            return int(power[name] * 1000)
    raise NVMLError_NotSupported(NVML_ERROR_NOT_SUPPORTED, "amdsmi gives no socket power")


def nvmlDeviceGetEnforcedPowerLimit(handle: Any) -> int:
    """Milliwatts of the power cap."""
    return int(_asked(lambda smi: smi.amdsmi_get_power_cap_info(handle)["power_cap"])) // 1000


def nvmlDeviceGetName(handle: Any) -> str:
    """The product's name."""
    return str(_asked(lambda smi: smi.amdsmi_get_gpu_asic_info(handle)["market_name"]))


def nvmlDeviceGetUUID(handle: Any) -> str:
    """The GPU's own identifier."""
    return str(_asked(lambda smi: smi.amdsmi_get_gpu_device_uuid(handle)))


def nvmlSystemGetDriverVersion() -> str:
    """The amdgpu driver's version."""
    handle = nvmlDeviceGetHandleByIndex(0)
    return str(_asked(lambda smi: smi.amdsmi_get_gpu_driver_info(handle)["driver_version"]))
