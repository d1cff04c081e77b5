"""Reads the AMD driver's own list of devices, /sys/class/kfd/kfd/topology/nodes, and the PCI bus.

Both are visible inside a container that got no device nodes, which is how we know what the host has.
"""

from __future__ import annotations

import re

from kernel_pytorch.core.devices import DeviceInfo, wave_size_of
from kernel_pytorch.core.probe import Probe

KFD_NODES = "/sys/class/kfd/kfd/topology/nodes"
PCI_DEVICES = "/sys/bus/pci/devices"
AMD_PCI_VENDOR = "0x1002"
# Display controllers, VGA and not, and processing accelerators (how Instinct cards show up).
GPU_PCI_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")


def read_kfd(probe: Probe) -> tuple[DeviceInfo, ...]:
    """The GPUs of the driver's topology. Empty without the driver."""
    devices: list[DeviceInfo] = []
    for node in sorted(probe.list_dir(KFD_NODES), key=lambda name: int(name) if name.isdigit() else -1):
        text = probe.read_text(f"{KFD_NODES}/{node}/properties")
        device = _device(probe, node, text or "", len(devices))
        if device is not None:
            devices.append(device)
    return tuple(devices)


def target_from_version(version: int) -> str:
    """`gfx_target_version` is major * 10000 + minor * 100 + stepping: 90402 is gfx942, 90010 gfx90a."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}" if version > 0 else ""


def _device(probe: Probe, node: str, text: str, index: int) -> DeviceInfo | None:
    values = {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}
    target = target_from_version(values.get("gfx_target_version", 0))
    simds = values.get("simd_count", 0)
    if not target or not simds:
        return None  # a processor's node
    return DeviceInfo(
        index=index,
        vendor="amd",
        name=(probe.read_text(f"{KFD_NODES}/{node}/name") or "").strip() or target,
        target=target,
        compute_units=simds // max(values.get("simd_per_cu", 0), 1),
        memory_bytes=_memory_bytes(probe, node),
        wave_size=values.get("wave_front_size", 0) or wave_size_of(target),
        source="kfd",
    )


def _memory_bytes(probe: Probe, node: str) -> int:
    banks = f"{KFD_NODES}/{node}/mem_banks"
    total = 0
    for bank in probe.list_dir(banks):
        text = probe.read_text(f"{banks}/{bank}/properties") or ""
        total += sum(int(size) for size in re.findall(r"^size_in_bytes (\d+)$", text, re.MULTILINE))
    return total


def amd_gpus_on_pci(probe: Probe) -> tuple[str, ...]:
    """PCI addresses of AMD display or compute devices, driver or not."""
    found = []
    for address in probe.list_dir(PCI_DEVICES):
        vendor = (probe.read_text(f"{PCI_DEVICES}/{address}/vendor") or "").strip()
        kind = (probe.read_text(f"{PCI_DEVICES}/{address}/class") or "").strip()
        if vendor == AMD_PCI_VENDOR and kind.startswith(GPU_PCI_CLASSES):
            found.append(address)
    return tuple(found)
