"""Throttling and energy, as the vendor's library tells them: NVML on NVIDIA, ROCm SMI on AMD, sysfs for CPUs.

Through ctypes, since neither library's Python package may be assumed. What cannot be read is None, never a guess.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.models.clock.device import Device

# NVML's clocksEventReasons: hardware slowdown, software thermal, hardware thermal, hardware power brake.
NVML_THROTTLED = 0x8 | 0x20 | 0x40 | 0x80
NVML_POWER_CAP = 0x4
_CPU_THROTTLE = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"


@dataclass(frozen=True)
class Sensors:
    """Functions that read a device; each may be None where the device does not tell."""

    throttled: Callable[[], bool] | None = None
    power_capped: Callable[[], bool] | None = None
    joules: Callable[[], float] | None = None
    source: str = "none"


def sensors_of(device: Device) -> Sensors:
    """What can be read of this device."""
    if device.vendor == "nvidia":
        return _nvml(device.index) or Sensors()
    if device.vendor == "amd":
        return _rocm_smi(device.index) or Sensors()
    return _cpu()


def _load(*names: str) -> CDLL | None:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _nvml(index: int) -> Sensors | None:
    library = _load("libnvidia-ml.so.1", "nvml.dll")
    if library is None or library.nvmlInit_v2() != 0:
        return None
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByPciBusId_v2(_pci_address(index).encode(), ctypes.byref(handle)) != 0:
        return None
    reasons = ctypes.c_ulonglong()
    energy = ctypes.c_ulonglong()

    def bits() -> int:
        call = getattr(library, "nvmlDeviceGetCurrentClocksThrottleReasons", None)
        if call is None or call(handle, ctypes.byref(reasons)) != 0:
            return 0
        return int(reasons.value)

    def joules() -> float:
        library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(energy))
        return energy.value / 1e3

    has_energy = library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(energy)) == 0
    return Sensors(
        throttled=lambda: bool(bits() & NVML_THROTTLED),
        power_capped=lambda: bool(bits() & NVML_POWER_CAP),
        joules=joules if has_energy else None,
        source="NVML",
    )


def _pci_numbers(index: int) -> tuple[int, int, int]:
    """Domain, bus and device: what torch and the management libraries agree on, whatever devices are visible."""
    import torch

    properties = torch.cuda.get_device_properties(index)
    domain, bus, slot = (int(getattr(properties, f"pci_{part}_id", 0)) for part in ("domain", "bus", "device"))
    return domain, bus, slot


def _pci_address(index: int) -> str:
    domain, bus, slot = _pci_numbers(index)
    return f"{domain:08x}:{bus:02x}:{slot:02x}.0"


def _rocm_smi(index: int) -> Sensors | None:
    library = _load("librocm_smi64.so", "librocm_smi64.so.7", "librocm_smi64.so.1", "/opt/rocm/lib/librocm_smi64.so")
    if library is None or library.rsmi_init(ctypes.c_uint64(0)) != 0:
        return None
    number = _rocm_smi_number(library, _pci_numbers(index))
    if number is None:
        return None
    counter, resolution, stamp = ctypes.c_uint64(), ctypes.c_float(), ctypes.c_uint64()

    def read() -> int:
        return int(
            library.rsmi_dev_energy_count_get(
                ctypes.c_uint32(number), ctypes.byref(counter), ctypes.byref(resolution), ctypes.byref(stamp)
            )
        )

    def joules() -> float:
        read()
        return counter.value * resolution.value / 1e6  # microjoules

    # ROCm SMI has no plain throttle flag that holds across generations: clocks are not judged on AMD.
    return Sensors(joules=joules if read() == 0 else None, source="ROCm SMI")


def _rocm_smi_number(library: CDLL, wanted: tuple[int, int, int]) -> int | None:
    """ROCm SMI's own number of the device at a PCI address."""
    count, place = ctypes.c_uint32(), ctypes.c_uint64()
    if library.rsmi_num_monitor_devices(ctypes.byref(count)) != 0:
        return None
    for number in range(count.value):
        if library.rsmi_dev_pci_id_get(ctypes.c_uint32(number), ctypes.byref(place)) == 0:
            value = int(place.value)
            if (value >> 32, value >> 8 & 0xFF, value >> 3 & 0x1F) == wanted:
                return number
    return None


def _cpu() -> Sensors:
    path = Path(_CPU_THROTTLE)
    if not path.exists():
        return Sensors()
    seen = [_count(path)]

    def throttled() -> bool:
        now = _count(path)
        grew = now > seen[0]
        seen[0] = now
        return grew

    return Sensors(throttled=throttled, source="sysfs")


def _count(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0
