"""Which gfx target a kernel is built for, and why that one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import AMDDeviceError

DEFAULT_TARGET = "gfx942"

# The AMD driver, in Linux and under WSL. Without either there is no AMD GPU to ask.
_DRIVER_NODES = ("/sys/class/kfd/kfd/topology/nodes", "/dev/kfd", "/dev/dxg")


@dataclass(frozen=True)
class TargetChoice:
    """A gfx target, the reason it was chosen, and the configuration that fits it."""

    target: str
    reason: str
    config: AMDConfig


def choose_target(config: AMDConfig, explicit: str | None = None) -> TargetChoice:
    """The target: what the caller names, else the configured family, else the GPU's, else gfx942."""
    if explicit is not None:
        return TargetChoice(explicit, "named by the caller", config)
    device = _device_target(config.device_id)
    family = _family(device) if device is not None else None
    if config.architecture is not AMDArchitecture.AUTO:
        if device is not None and family is config.architecture:
            return TargetChoice(device, f"AMD GPU {config.device_id} of this machine is {family.name}", config)
        name = config.architecture.name
        return TargetChoice(family_target(config.architecture), f"architecture {name} of the configuration", config)
    if device is not None and family is not None:
        return TargetChoice(device, f"AMD GPU {config.device_id} of this machine", config.for_architecture(family))
    why = "no AMD GPU here" if device is None else f"this machine's {device} is not in the hardware table"
    return TargetChoice(DEFAULT_TARGET, f"{why}: the default, MI300X's target", config)


def family_target(architecture: AMDArchitecture) -> str:
    """The target that stands for a family."""
    from kernel_pytorch.core.hardware import targets

    return next(row.name for row in targets("amd") if row.stands_for_arch and row.arch == architecture.name)


def _family(device: str) -> AMDArchitecture | None:
    from kernel_pytorch.core.hardware import UnknownTargetError, target

    try:
        return target(device).amd_architecture
    except UnknownTargetError:
        return None


def _device_target(device_id: int) -> str | None:
    """The gfx target of one AMD GPU here, or None without any."""
    # A machine that stands in for this one can be set only through that module.
    stand_in_possible = "kernel_pytorch.core.platform" in sys.modules
    if not stand_in_possible and not any(Path(node).exists() for node in _DRIVER_NODES):
        return None
    from kernel_pytorch.core.platform import current_probe, detect
    from kernel_pytorch.core.vendor_kfd import read_kfd

    probe = current_probe()
    facts = probe.torch()
    # The driver's files cost a fraction of a millisecond, the vendor tools seconds; but the files list devices
    # before any VISIBLE_DEVICES variable, so they decide only where all are alike.
    kfd = read_kfd(probe)
    alike = len({device.target for device in kfd}) == 1 and not kfd[0].is_integrated
    if alike and not (facts is not None and facts.devices):
        return kfd[0].target
    platform = detect(probe)
    if platform.vendor != "amd" or not platform.devices:
        return None
    if device_id >= len(platform.devices):
        raise AMDDeviceError(f"device_id={device_id}, but this machine shows {len(platform.devices)} AMD GPU(s)")
    return platform.devices[device_id].target or None
