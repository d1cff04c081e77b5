"""Back ends: one room per vendor. Importing this package imports neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernel_pytorch.backends.device_backend import DeviceBackend
    from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig

__all__ = ["get_backend"]

_HOME = {
    "amd": ("kernel_pytorch.backends.amd.backend", "AMDBackend"),
    "nvidia": ("kernel_pytorch.backends.nvidia.backend", "NVIDIABackend"),
    "cpu": ("kernel_pytorch.backends.cpu", "CPUBackend"),
}


def get_backend(device: Any = None, config: KernelPyTorchConfig | AMDConfig | None = None) -> DeviceBackend:
    """The back end of a device: "amd", "nvidia", "cpu", or a torch device ("cuda:1" is AMD or NVIDIA as torch is).

    Without a device the configuration's `backend` decides, and with "auto" the torch that is installed: its
    vendor's GPU if there is one, else the CPU.
    """
    from dataclasses import replace
    from importlib import import_module

    from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig

    whole = KernelPyTorchConfig(amd=config) if isinstance(config, AMDConfig) else config or KernelPyTorchConfig()
    name = whole.backend
    if device is not None:
        name, index = _named(device)
        if index is not None:
            whole = replace(whole, device_id=index)
    if name == "auto":
        name = _of_this_machine()
    if name == "amd" and whole.device_id:
        whole = replace(whole, amd=replace_option(whole.amd, device_id=whole.device_id))
    module, kind = _HOME[name]
    backend: DeviceBackend = getattr(import_module(module), kind)(whole)
    return backend


def replace_option(config: AMDConfig, **options: Any) -> AMDConfig:
    """`config` with some options changed; what the architecture decides stays undecided unless the caller set it."""
    from kernel_pytorch.core.config import ARCHITECTURE_DEFAULTS, AMDConfig

    undecided = ARCHITECTURE_DEFAULTS[config.architecture].keys() - config.caller_set
    kept: dict[str, Any] = {key: value for key, value in config.to_dict().items() if key not in undecided}
    return AMDConfig(**{**kept, **options})


def _named(device: Any) -> tuple[str, int | None]:
    from kernel_pytorch.core.errors import UsageError

    text = str(device).lower()
    name, _, index = text.partition(":")
    if name in ("cuda", "hip"):
        name = "gpu"
    if name not in (*_HOME, "auto", "gpu") or (index and not index.isdigit()):
        raise UsageError(f"unknown device {device!r}: amd, nvidia, cpu, auto, or a torch device such as cuda:0")
    return _vendor_of_torch() if name == "gpu" else name, int(index) if index else None


def _vendor_of_torch() -> str:
    from kernel_pytorch.core.platform import current_probe, is_rocm

    facts = current_probe().torch()
    return "amd" if (bool(facts.hip) if facts is not None else is_rocm()) else "nvidia"


def _of_this_machine() -> str:
    from kernel_pytorch.backends.found_devices import find_devices

    return next((vendor for vendor in ("amd", "nvidia") if find_devices(vendor).devices), "cpu")
