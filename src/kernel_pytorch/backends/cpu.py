"""CPUBackend: the CPU, by choice rather than as a fallback."""

from __future__ import annotations

from kernel_pytorch.backends.device_backend import DeviceBackend
from kernel_pytorch.backends.found_devices import FoundDevices
from kernel_pytorch.backends.precision import choose_precision
from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig


class CPUBackend(DeviceBackend):
    """Runs models on the CPU, in fp32 unless the configuration names a precision."""

    vendor = "cpu"

    def __init__(self, config: AMDConfig | KernelPyTorchConfig | None = None) -> None:
        options = config.amd if isinstance(config, KernelPyTorchConfig) else config or AMDConfig()
        super().__init__(options, FoundDevices(None, (), ""), 0)
        self._precision = choose_precision(self.config, None)

    def is_available(self) -> bool:
        """Always."""
        return True
