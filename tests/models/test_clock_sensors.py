"""The vendor libraries' calls, with stand-ins that answer as the real ones do."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.models.clock import sensors
from kernel_pytorch.models.clock.device import Device
from kernel_pytorch.models.clock.sensors import Sensors, sensors_of


def put(pointer: Any, value: Any) -> None:
    pointer._obj.value = value


class FakeNvml:
    """NVML with one device at 0000001a:3b:00.0."""

    reasons = 0
    millijoules = 5000

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetHandleByPciBusId_v2(self, address: bytes, handle: Any) -> int:  # noqa: N802
        put(handle, 77)
        return 0 if address == b"0000001a:3b:00.0" else 6

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, out: Any) -> int:  # noqa: N802
        put(out, self.reasons)
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, out: Any) -> int:  # noqa: N802
        put(out, self.millijoules)
        return 0


class FakeRocmSmi:
    """ROCm SMI with two devices; the second is at 0001:c1:00.0."""

    def rsmi_init(self, flags: Any) -> int:
        return 0

    def rsmi_num_monitor_devices(self, out: Any) -> int:
        put(out, 2)
        return 0

    def rsmi_dev_pci_id_get(self, number: ctypes.c_uint32, out: Any) -> int:
        put(out, [0x0000_0000_0000_8300, 0x0000_0001_0000_C100][number.value])
        return 0

    def rsmi_dev_energy_count_get(self, number: ctypes.c_uint32, counter: Any, resolution: Any, stamp: Any) -> int:
        put(counter, 2_000_000 * number.value)
        put(resolution, 15.3)
        return 0


def with_library(monkeypatch: pytest.MonkeyPatch, library: Any, place: tuple[int, int, int]) -> None:
    monkeypatch.setattr(sensors, "_load", lambda *names: library)
    monkeypatch.setattr(sensors, "_pci_numbers", lambda index: place)


def test_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeNvml()
    with_library(monkeypatch, library, (0x1A, 0x3B, 0))
    found = sensors_of(Device("gpu", "H", "nvidia"))
    assert found.throttled is not None and found.power_capped is not None and found.joules is not None
    assert (found.throttled(), found.power_capped(), found.joules()) == (False, False, 5.0)
    library.reasons = 0x4  # the ordinary power limit is no reason to drop a sample
    assert (found.throttled(), found.power_capped()) == (False, True)
    for reason in (0x8, 0x20, 0x40, 0x80):
        library.reasons = reason
        assert found.throttled()


def test_a_device_nvml_does_not_know_has_no_sensors(monkeypatch: pytest.MonkeyPatch) -> None:
    with_library(monkeypatch, FakeNvml(), (0, 1, 0))
    assert sensors_of(Device("gpu", "H", "nvidia")) == Sensors()


def test_rocm_smi_reads_the_device_at_the_same_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with_library(monkeypatch, FakeRocmSmi(), (1, 0xC1, 0))
    found = sensors_of(Device("gpu", "M", "amd"))
    assert found.joules is not None and found.joules() == pytest.approx(30.6)
    assert found.throttled is None
    with_library(monkeypatch, FakeRocmSmi(), (9, 0, 0))
    assert sensors_of(Device("gpu", "M", "amd")) == Sensors()


def test_without_a_library_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with_library(monkeypatch, None, (0, 0, 0))
    assert sensors_of(Device("gpu", "H", "nvidia")) == sensors_of(Device("gpu", "M", "amd")) == Sensors()


def test_a_cpu_is_throttled_when_its_counter_moves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counter = tmp_path / "count"
    counter.write_text("3")
    monkeypatch.setattr(sensors, "_CPU_THROTTLE", str(counter))
    found = sensors_of(Device("cpu", "c", "cpu"))
    assert found.throttled is not None and not found.throttled()
    counter.write_text("4")
    assert found.throttled() and not found.throttled()
