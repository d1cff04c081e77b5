"""Which platform is this: AMD, NVIDIA or neither, and with which devices.

Nothing happens on import. `is_rocm` asks whether torch.version.hip is set. `detect` asks torch where torch is loaded,
and the vendor tools and the driver's files where it is not.
"""

from __future__ import annotations

import contextvars
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from kernel_pytorch.core.devices import DeviceInfo, clean_target, wave_size_of
from kernel_pytorch.core.probe import Probe, TorchFacts, this_machine
from kernel_pytorch.core.vendor_kfd import read_kfd
from kernel_pytorch.core.vendor_tools import ToolReading, read_tools, tool_names

__all__ = ["DeviceInfo", "Platform", "Probe", "detect", "is_rocm", "platform_from", "using"]

ROCM_VERSION_FILES = ("/opt/rocm/.info/version", "/opt/rocm/.info/version-rocm")
AMDGPU_VERSION_FILE = "/sys/module/amdgpu/version"


def is_rocm(torch_module: Any = None) -> bool:
    """`hasattr(torch.version, "hip") and torch.version.hip is not None`, importing torch only when it is asked.

    Raises ImportError where there is no torch: then the question has no answer."""
    if torch_module is None:
        torch_module = sys.modules.get("torch") or importlib.import_module("torch")
    return hasattr(torch_module.version, "hip") and torch_module.version.hip is not None


@dataclass(frozen=True)
class Platform:
    """One machine as a program on it sees it. What could not be learnt is None."""

    vendor: str  # "amd", "nvidia" or "cpu"
    torch_version: str | None = None
    hip_version: str | None = None
    cuda_version: str | None = None
    rocm_version: str | None = None
    driver_version: str | None = None
    devices: tuple[DeviceInfo, ...] = ()

    @property
    def is_rocm(self) -> bool:
        """A torch built for ROCm is loaded here."""
        return self.hip_version is not None

    @property
    def targets(self) -> tuple[str, ...]:
        """The distinct targets of the devices, in order of appearance."""
        return tuple(dict.fromkeys(device.target for device in self.devices if device.target))


_replacement: contextvars.ContextVar[Probe | None] = contextvars.ContextVar("kernel_pytorch_probe", default=None)


@contextmanager
def using(probe: Probe) -> Iterator[Probe]:
    """Within the block every `detect()` without a probe of its own looks at this one."""
    token = _replacement.set(probe)
    try:
        yield probe
    finally:
        _replacement.reset(token)


def current_probe() -> Probe:
    """The probe a `using` block set, or the real machine."""
    return _replacement.get() or this_machine()


def detect(probe: Probe | None = None) -> Platform:
    """The platform. To let torch name the devices, pass `this_machine(import_torch=True)`."""
    probe = probe or current_probe()
    facts = probe.torch()
    if facts is not None and facts.devices:
        return platform_from(facts, {}, (), probe)
    return platform_from(facts, read_tools(probe), read_kfd(probe), probe)


def platform_from(
    facts: TorchFacts | None,
    readings: Mapping[str, ToolReading],
    kfd: tuple[DeviceInfo, ...],
    probe: Probe,
) -> Platform:
    """Puts together what torch, the tools and the driver told."""
    amd = _best_amd(readings, kfd)
    nvidia = readings["nvidia-smi"].devices if "nvidia-smi" in readings else ()
    vendor, devices = _choose(facts, amd, nvidia)
    return Platform(
        vendor=vendor,
        torch_version=facts.version if facts else None,
        hip_version=facts.hip if facts else None,
        cuda_version=facts.cuda if facts else None,
        rocm_version=_rocm_version(probe) or (facts.rocm if facts else None),
        driver_version=_driver_version(vendor, readings, probe),
        devices=devices,
    )


def _choose(
    facts: TorchFacts | None, amd: tuple[DeviceInfo, ...], nvidia: tuple[DeviceInfo, ...]
) -> tuple[str, tuple[DeviceInfo, ...]]:
    if facts is not None and facts.devices:
        vendor = "amd" if facts.hip else "nvidia"
        return vendor, tuple(_from_torch(item, i, vendor) for i, item in enumerate(facts.devices))
    # With both vendors' GPUs in one box, the torch that is there decides. Without one, an AMD processor's own
    # display adapter does not make it an AMD machine.
    if amd and not nvidia:
        return "amd", amd
    if nvidia and not amd:
        return "nvidia", nvidia
    if amd and nvidia:
        prefers_nvidia = bool(facts and facts.cuda) or (
            not (facts and facts.hip) and all(device.is_integrated for device in amd)
        )
        return ("nvidia", nvidia) if prefers_nvidia else ("amd", amd)
    return "cpu", ()


def _best_amd(readings: Mapping[str, ToolReading], kfd: tuple[DeviceInfo, ...]) -> tuple[DeviceInfo, ...]:
    """The fullest list, its gaps filled from lists of the same length (the orders agree on one machine)."""
    lists = [readings[name].devices for name in tool_names("amd") if name in readings and readings[name].devices]
    lists += [kfd] if kfd else []
    if not lists:
        return ()
    best = lists[0]
    for other in lists[1:]:
        if len(other) == len(best):
            best = tuple(_filled(a, b) for a, b in zip(best, other, strict=True))
    return best


def _filled(device: DeviceInfo, other: DeviceInfo) -> DeviceInfo:
    if device.target and other.target and device.target != other.target:
        return device  # listed in another order: do not mix two devices
    target = device.target or other.target
    return replace(
        device,
        name=other.name if device.name == device.target and other.name else device.name,
        target=target,
        compute_units=device.compute_units or other.compute_units,
        memory_bytes=device.memory_bytes or other.memory_bytes,
        wave_size=device.wave_size or other.wave_size or wave_size_of(target),
    )


def _from_torch(properties: Any, index: int, vendor: str) -> DeviceInfo:
    if vendor == "amd":
        target = clean_target(str(getattr(properties, "gcnArchName", "")))
    else:
        target = f"sm_{properties.major}{properties.minor}"
    return DeviceInfo(
        index=index,
        vendor=vendor,
        name=str(properties.name),
        target=target,
        compute_units=int(getattr(properties, "multi_processor_count", 0)),
        memory_bytes=int(getattr(properties, "total_memory", 0)),
        wave_size=int(getattr(properties, "warp_size", 0)) or wave_size_of(target),
        source="torch",
    )


def _rocm_version(probe: Probe) -> str | None:
    """Of the ROCm installed on the system, `6.4.1` of `6.4.1-83`; a pip torch carries its own libraries."""
    roots = [probe.env["ROCM_PATH"] + "/.info/version"] if probe.env.get("ROCM_PATH") else []
    for path in (*roots, *ROCM_VERSION_FILES):
        match = re.match(r"\d+(\.\d+)+", probe.read_text(path) or "")
        if match:
            return match.group(0)
    return None


def _driver_version(vendor: str, readings: Mapping[str, ToolReading], probe: Probe) -> str | None:
    if vendor == "amd":
        version = (probe.read_text(AMDGPU_VERSION_FILE) or "").strip()
        if version:
            return version
    for name in tool_names(vendor):
        if name in readings and readings[name].driver_version:
            return readings[name].driver_version
    return None
