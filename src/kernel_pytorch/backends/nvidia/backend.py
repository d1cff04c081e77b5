"""NVIDIABackend: an NVIDIA GPU through CUDA, or the CPU where there is none."""

from __future__ import annotations

from kernel_pytorch.backends.device_backend import DeviceBackend, no_device_error
from kernel_pytorch.backends.found_devices import find_devices
from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.backends.precision import choose_precision, nvidia_precision
from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig
from kernel_pytorch.core.errors import AMDDeviceError


class NVIDIABackend(DeviceBackend):
    """One NVIDIA GPU. Precision, memory and validation options are those of `config.amd`, which both vendors share;
    options of AMD's libraries and an AMD architecture mean nothing here.

    Without CUDA it runs on the CPU and says so once; under `enable_strict_validation` it raises AMDDeviceError.
    """

    vendor = "nvidia"

    def __init__(self, config: KernelPyTorchConfig | AMDConfig | None = None) -> None:
        whole = config if isinstance(config, KernelPyTorchConfig) else None
        options = whole.amd if whole is not None else config if isinstance(config, AMDConfig) else AMDConfig()
        device_id = whole.device_id if whole is not None and whole.device_id else options.device_id
        found = find_devices("nvidia")
        if not found.devices and options.enable_strict_validation:
            raise no_device_error(AMDDeviceError, "CUDA", found.reason)
        super().__init__(options, found, device_id)
        if self._info is None:
            self._precision = choose_precision(self.config, None)
            say_once(f"NVIDIABackend runs on the CPU: {found.reason}")
        else:
            self._precision = nvidia_precision(self.config, self._info.target)
        self._limit_memory()
