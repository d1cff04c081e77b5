"""Which devices of a vendor this torch can use, and if none, why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.errors import AMDDeviceError
from kernel_pytorch.core.platform import Platform, current_probe, detect, is_rocm
from kernel_pytorch.core.vendor_kfd import read_kfd

if TYPE_CHECKING:
    import torch

_NAMES = {"amd": "ROCm", "nvidia": "CUDA"}


@dataclass(frozen=True)
class FoundDevices:
    """The devices torch can use; `reason` says why there are none."""

    platform: Platform | None
    devices: tuple[DeviceInfo, ...]
    reason: str


def find_devices(vendor: str) -> FoundDevices:
    """Ask torch, or the machine that stands in for this one (see `core.platform.using`)."""
    import torch

    if torch.cuda.is_available() and is_rocm(torch) == (vendor == "amd"):
        torch.cuda.init()  # torch names its devices only after that
    probe = current_probe()
    facts = probe.torch()
    if facts is not None and facts.devices and bool(facts.hip) == (vendor == "amd"):
        platform = detect(probe)
        return FoundDevices(platform, platform.devices, "")
    wanted = _NAMES[vendor]
    if facts is None:
        return FoundDevices(None, (), f"torch is not there, so {wanted} cannot be used")
    build = "ROCm" if facts.hip else "CUDA" if facts.cuda else "CPU"
    if build != wanted:
        reason = f"torch {facts.version} is a {build} build"
        present = read_kfd(probe) if vendor == "amd" else ()
        if present:
            reason += f", although an AMD GPU ({present[0].target}) is here: install a {wanted} build of torch"
    else:
        reason = f"torch {facts.version} is a {wanted} build but sees no device (kpt doctor looks for the cause)"
    return FoundDevices(None, (), reason)


def choose_device(device_id: int, devices: tuple[DeviceInfo, ...]) -> int:
    """The index of the device this process uses: its own of a torchrun job, else the configured one."""
    local_rank = os.environ.get("LOCAL_RANK", "")
    if device_id == 0 and local_rank.isdigit() and "WORLD_SIZE" in os.environ:
        # A launcher may show every rank one device only; then it is number 0 for all of them.
        device_id = 0 if len(devices) == 1 and _each_rank_sees_its_own() else int(local_rank)
        if device_id >= len(devices):
            raise AMDDeviceError(
                f"local rank {local_rank} has no GPU of its own: this machine shows {len(devices)}. "
                "Start at most one process per GPU (torchrun --nproc-per-node)",
                {"local_rank": int(local_rank), "devices": len(devices)},
            )
    if device_id >= len(devices):
        raise AMDDeviceError(
            f"device_id={device_id}, but this machine shows {len(devices)} GPU(s), numbered from 0",
            {"device_id": device_id, "devices": len(devices)},
        )
    return device_id


def _each_rank_sees_its_own() -> bool:
    names = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    return any(os.environ.get(name, "").strip() for name in names)


def rocm_device_or_cpu(device_id: int) -> torch.device:
    """The torch device an AMD component works on by itself: the configured AMD GPU, else the CPU."""
    import torch

    found = find_devices("amd")
    if not found.devices or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", choose_device(device_id, found.devices))


def stood_in_memory_bytes(device_id: int) -> int:
    """Memory of the AMD GPU that `core.platform.using` stands in for; 0 where there is none, or a real one."""
    import torch

    found = find_devices("amd")
    if not found.devices or torch.cuda.is_available():
        return 0
    return found.devices[choose_device(device_id, found.devices)].memory_bytes
