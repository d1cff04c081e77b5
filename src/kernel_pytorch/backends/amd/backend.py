"""AMDBackend: an AMD GPU through ROCm, or the CPU where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.amd.compile_settings import rocm_compile_arguments
from kernel_pytorch.backends.amd.libraries import LibrarySetting, apply_settings, library_settings, options_without_rocm
from kernel_pytorch.backends.device_backend import DeviceBackend, no_device_error
from kernel_pytorch.backends.found_devices import find_devices
from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.backends.precision import choose_precision, fitted_config, fp8_dtype, require_matrix_units
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig
from kernel_pytorch.core.errors import AMDBackendError, AMDDeviceError, MatrixCoreError, ROCmNotAvailableError

if TYPE_CHECKING:
    import torch


class AMDBackend(DeviceBackend):
    """One AMD GPU: detected by its gfx target, configured, and given back by `cleanup` or at the end of a `with`.

    Without ROCm it runs on the CPU and says so once (`fallback_reason`); under `enable_strict_validation` it raises
    ROCmNotAvailableError instead. A device_id that does not exist raises AMDDeviceError.
    """

    vendor = "amd"

    def __init__(self, config: AMDConfig | KernelPyTorchConfig | None = None) -> None:
        options = _amd_options(config)
        found = find_devices("amd")
        if not found.devices and options.enable_strict_validation:
            raise no_device_error(ROCmNotAvailableError, "ROCm", found.reason)
        super().__init__(options, found, options.device_id)
        self._fit_configuration()
        self._precision = choose_precision(self.config, self.target)
        if not found.devices:
            say_once(f"AMDBackend runs on the CPU: {found.reason}")
            for name in options_without_rocm(options):
                say_once(f"AMDConfig.{name} has no effect here: AMDBackend runs on the CPU")
        self._limit_memory()
        if self._is_real:
            self._undo += apply_settings(self.library_settings())

    def library_settings(self) -> tuple[LibrarySetting, ...]:
        """What the configuration sets in rocBLAS, hipBLASLt, MIOpen and TunableOp, with the reason of each."""
        return library_settings(self.config, self.target) if self.is_available() else ()

    def require_matrix_cores(self, precision: str) -> None:
        """Raise MatrixCoreError unless this GPU multiplies "fp16", "bf16", "fp8" ... on matrix units."""
        require_matrix_units(self._gfx_target(), precision, enabled=self.config.enable_matrix_cores)

    def fp8_dtype(self) -> torch.dtype:
        """The torch dtype FP8 has on this GPU. Raises MatrixCoreError where it has none."""
        return fp8_dtype(self._gfx_target(), enabled=self.config.enable_matrix_cores)

    def _gfx_target(self) -> str:
        if self._info is None or self.target is None:
            where = "the CPU fallback" if self._info is None else f"{self._info.target}, which is not in the table,"
            raise MatrixCoreError(f"{where} has no matrix units that are known")
        return self.target.name

    def _fit_configuration(self) -> None:
        asked = self.config.architecture
        row = self.target
        if self._info is None:
            return
        if row is None:
            say_once(f"{self._info.target} is not in the hardware table: general defaults are used")
            return
        if asked is AMDArchitecture.AUTO:
            self._config = fitted_config(self.config, row.amd_architecture)
        elif asked is not row.amd_architecture:
            message = f"architecture={asked.name}, but device {self._info.index} is {row.name} ({row.arch})"
            if self.config.enable_strict_validation:
                raise AMDDeviceError(message, {"configured": asked.value, "device": row.arch.lower()})
            say_once(f"{message}: the defaults of {asked.name} stay, as configured")

    def _compile_arguments(self, compile: bool | str | Mapping[str, object]) -> dict[str, Any] | None:
        arguments = super()._compile_arguments(compile)
        if arguments is None or not self.is_available() or isinstance(compile, Mapping):
            return arguments
        return rocm_compile_arguments(arguments.get("mode"))


def _amd_options(config: AMDConfig | KernelPyTorchConfig | None) -> AMDConfig:
    if config is None:
        return AMDConfig()
    if isinstance(config, KernelPyTorchConfig):
        return config.amd
    if not isinstance(config, AMDConfig):
        raise AMDBackendError(f"AMDBackend takes an AMDConfig, not {type(config).__name__}")
    return config
