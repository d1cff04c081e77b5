"""What the back ends have in common: one device, one configuration, one precision."""

from __future__ import annotations

import platform as python_platform
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.found_devices import FoundDevices, choose_device
from kernel_pytorch.backends.host import cpu_count, cpu_name, host_memory
from kernel_pytorch.backends.precision import known_target
from kernel_pytorch.backends.prepare import has_convolutions, parameter_bytes, prepare
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.errors import AMDBackendError, AMDConfigurationError, AMDDeviceError
from kernel_pytorch.core.hardware import GIB, Target, find_gpu
from kernel_pytorch.models.precision import Precision

if TYPE_CHECKING:
    import torch
    from torch import nn

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


class DeviceBackend:
    """A device and how models are prepared for it. Made by AMDBackend, NVIDIABackend and CPUBackend."""

    vendor = "cpu"

    def __init__(self, config: AMDConfig, found: FoundDevices, device_id: int) -> None:
        import torch

        self._found = found
        self._undo: list[Callable[[], None]] = []
        self._info: DeviceInfo | None = None
        self._device = torch.device("cpu")
        if found.devices:
            index = choose_device(device_id, found.devices)
            self._info = found.devices[index]
            self._device = torch.device("cuda", index)
        self._config = config
        self._precision = Precision("fp32", False, "not chosen yet")

    @property
    def device(self) -> torch.device:
        """The torch device models and inputs belong on."""
        return self._device

    @property
    def config(self) -> AMDConfig:
        """The configuration with the architecture's defaults filled in."""
        return self._config

    @property
    def precision(self) -> Precision:
        """What models are prepared in, and why."""
        return self._precision

    @property
    def fallback_reason(self) -> str:
        """Why this back end runs on the CPU; empty where it runs on its device."""
        return self._found.reason

    @property
    def target(self) -> Target | None:
        """The row of the hardware table of this device; None on the CPU and for a target it does not have."""
        return known_target(self._info.target) if self._info is not None else None

    def is_available(self) -> bool:
        """Whether the vendor's GPU is used; False for a fallback to the CPU."""
        return self._info is not None

    def get_device_info(self) -> dict[str, Any]:
        """What is known of the device. Keys are the same on every back end; what does not apply is None."""
        return self._describe(self._info)

    def get_all_devices(self) -> list[dict[str, Any]]:
        """The same for every device of this vendor that torch sees; the CPU where there is none."""
        return [self._describe(info) for info in self._found.devices] or [self._describe(None)]

    def prepare_model(
        self,
        model: nn.Module,
        *,
        parallel: str | None = None,
        compile: bool | str | Mapping[str, object] = False,
        memory_format: str = "auto",
    ) -> nn.Module:
        """Make `model` ready for this device, in place, and return it.

        It is moved, its precision set (see `precision`; fp32 inputs go on working), its memory format chosen, and
        with `compile` (True, a mode of torch.compile, or its keyword arguments) compiled on the first call. The
        keys of its state dict do not change. `parallel` is "ddp" or "fsdp" under torchrun.

        Raises with the reason when that cannot be done; the model is then as it was.
        """
        from kernel_pytorch.backends import parallel as many

        many.check_kind(parallel)
        arguments = self._compile_arguments(compile)
        self._check_reachable()
        self._check_memory(model)
        spread = many.start(parallel, self)
        prepared = prepare(
            model,
            device=self.device,
            precision=self.precision,
            memory_format=self._memory_format(model, memory_format),
            compile_arguments=None if spread else arguments,
            low_precision_by="policy" if spread == "fsdp" else "boundary",
        )
        return many.spread(prepared, self, spread, arguments) if spread else prepared

    def grad_scaler(self) -> torch.amp.GradScaler:
        """A gradient scaler: at work in fp16, where small gradients would become zero; else it does nothing."""
        import torch

        return torch.amp.GradScaler(self.device.type, enabled=self.precision.name == "fp16")

    def synchronize(self) -> None:
        """Wait for everything queued on the device."""
        import torch

        if self.device.type == "cuda" and torch.cuda.is_available():
            torch.cuda.synchronize(self.device)

    def cleanup(self) -> None:
        """Wait for the device, free its cached memory, and restore every setting that this back end changed.

        Models that were prepared stay usable. A second call does nothing more."""
        import torch

        self.synchronize()
        while self._undo:
            self._undo.pop()()
        if self.device.type == "cuda" and torch.cuda.is_available():
            torch.cuda.empty_cache()

    def __enter__(self) -> DeviceBackend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cleanup()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(device={self.device}, precision={self.precision.name})"

    @property
    def _is_real(self) -> bool:
        """A device this process can run on: not the CPU, and not a machine that merely stands in."""
        import torch

        return self.device.type == "cuda" and bool(torch.cuda.is_available())

    def _limit_memory(self) -> None:
        """Let torch's allocator have no more than max_memory_fraction of the device."""
        import torch

        if not self._is_real:
            return
        before = getattr(torch.cuda, "get_per_process_memory_fraction", lambda device: 1.0)(self.device)
        torch.cuda.set_per_process_memory_fraction(self.config.max_memory_fraction, self.device)
        self._undo.append(lambda: torch.cuda.set_per_process_memory_fraction(before, self.device))

    def _describe(self, info: DeviceInfo | None) -> dict[str, object]:
        import torch

        platform = self._found.platform
        common = {
            "backend": self.vendor,
            "precision": self.precision.name,
            "mixed_precision": self.precision.mixed,
            "precision_reason": self.precision.reason,
            "torch_version": platform.torch_version if platform else str(torch.__version__),
            "rocm_available": bool(platform and platform.vendor == "amd"),
            "rocm_version": platform.rocm_version or platform.hip_version if platform else None,
            "cuda_version": platform.cuda_version if platform else None,
            "fallback_reason": self.fallback_reason or None,
            "configured_architecture": self.config.architecture.value,
        }
        return {**(_cpu_facts() if info is None else _gpu_facts(info)), **common}

    def _memory_format(self, model: nn.Module, asked: str) -> str:
        if asked != "auto":
            return asked
        # Tensor cores read channels_last; on AMD it depends on the MIOpen version, so AMDOptimizer measures it.
        pays = self.vendor == "nvidia" and self._is_real and self.precision.is_low and has_convolutions(model)
        return "channels_last" if pays else "contiguous"

    def _compile_arguments(self, compile: bool | str | Mapping[str, object]) -> dict[str, Any] | None:
        if compile is False:
            return None
        if compile is True:
            return {}
        if isinstance(compile, str):
            if compile not in COMPILE_MODES:
                raise AMDConfigurationError("compile", compile, f"True, False or one of {', '.join(COMPILE_MODES)}")
            return {} if compile == "default" else {"mode": compile}
        return dict(compile)

    def _check_reachable(self) -> None:
        if self.device.type == "cuda" and not self._is_real:
            raise AMDDeviceError(
                f"{self._info.name if self._info else 'the device'} is stood in for: it can be asked about, but this "
                "torch cannot run anything on it"
            )

    def _check_memory(self, model: nn.Module) -> None:
        import torch

        from kernel_pytorch.backends.memory_figures import memory_error

        if not self._is_real or not self.config.enable_oom_protection or not isinstance(model, torch.nn.Module):
            return
        needed = parameter_bytes(model, self.device)
        free = torch.cuda.mem_get_info(self.device)[0]
        if needed > free:
            raise memory_error("prepare_model", needed, free)


def _cpu_facts() -> dict[str, object]:
    return {
        "device_type": "cpu",
        "device": "cpu",
        "name": cpu_name(),
        "architecture": python_platform.machine(),
        "gfx_target": None,
        "target": None,
        "product": None,
        "total_memory_gb": round(host_memory().total_bytes / GIB, 2),
        "matrix_cores_available": False,
        "wave_size": None,
        "compute_units": cpu_count(),
        "fp8_format": None,
    }


def _gpu_facts(info: DeviceInfo) -> dict[str, object]:
    row = known_target(info.target)
    match = find_gpu(info.target, info.compute_units or None, info.memory_bytes / GIB or None, name=info.name)
    return {
        "device_type": "cuda",  # torch's name for both vendors' devices
        "device": f"cuda:{info.index}",
        "name": info.name,
        "architecture": row.arch.lower() if row is not None else "unknown",
        "gfx_target": info.target if info.vendor == "amd" else None,
        "target": info.target,
        "product": match.gpu.name if match is not None and match.certain else None,
        "total_memory_gb": round(info.memory_bytes / GIB, 2),
        "matrix_cores_available": row is not None and row.has_matrix_units,
        "wave_size": info.wave_size or None,
        "compute_units": info.compute_units,
        "fp8_format": row.fp8_format if row is not None else None,
    }


def no_device_error(kind: type[AMDBackendError], what: str, reason: str) -> AMDBackendError:
    """The error of a back end that may not fall back."""
    return kind(f"{what} is not available: {reason}", {"reason": reason})
