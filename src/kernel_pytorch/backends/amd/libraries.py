"""rocBLAS, hipBLASLt, MIOpen and TunableOp: what AMDConfig sets in them, applied and undone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.core.cache_folder import default_cache, own_folder_in, own_name, private_folder
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import AMDConfigurationError, UsageError
from kernel_pytorch.core.hardware import Target

ROCM_ONLY_OPTIONS = ("device_id", "rocblas_enabled", "enable_rocblas_tuning", "miopen_enabled", "miopen_find_mode")
FIND_MODE_VARIABLE = "MIOPEN_FIND_MODE"

# Families hipBLASLt is built for (its own list of supported GPUs); without it rocBLAS is the only BLAS.
_HIPBLASLT = ("CDNA2", "CDNA3", "CDNA4", "RDNA3", "RDNA4")


@dataclass(frozen=True)
class LibrarySetting:
    """One thing to set. `key` is an environment variable ("env:NAME") or a switch of torch."""

    key: str
    value: bool | str
    option: str
    why: str


def options_without_rocm(config: AMDConfig) -> tuple[str, ...]:
    """Options the caller changed that mean nothing without an AMD GPU."""
    defaults = {item.name: item.default for item in fields(AMDConfig)}
    return tuple(name for name in ROCM_ONLY_OPTIONS if getattr(config, name) != defaults[name])


def library_settings(config: AMDConfig, row: Target | None) -> tuple[LibrarySetting, ...]:
    """What to set for a configuration on a target. Raises AMDConfigurationError where it leaves no BLAS."""
    settings = [
        LibrarySetting(
            f"env:{FIND_MODE_VARIABLE}",
            config.miopen_find_mode,
            "miopen_find_mode",
            "how MIOpen searches for a convolution when torch.backends.cudnn.benchmark asks it to",
        )
    ]
    if not config.miopen_enabled:
        settings.append(
            LibrarySetting("cudnn.enabled", False, "miopen_enabled", "torch's own kernels instead of MIOpen")
        )
    if not config.rocblas_enabled:
        if row is None or row.arch not in _HIPBLASLT:
            name = row.name if row is not None else "this target"
            raise AMDConfigurationError("rocblas_enabled", False, f"hipBLASLt, the alternative, is not for {name}")
        settings.append(LibrarySetting("blas", "cublaslt", "rocblas_enabled", "hipBLASLt instead of rocBLAS"))
    if config.enable_rocblas_tuning:
        name = row.name if row is not None else "unknown"
        results = str(Path(config.hip_compiler_cache_dir) / own_name("tunableop") / f"{name}_{_torch_build()}_%d.csv")
        searches = config.optimization_level != "conservative"
        settings += [
            LibrarySetting("tunable.filename", results, "hip_compiler_cache_dir", "where tuned GEMMs are kept"),
            LibrarySetting("tunable.enabled", True, "enable_rocblas_tuning", "GEMMs use what was tuned before"),
            LibrarySetting(
                "tunable.tuning", searches, "optimization_level", "new GEMM shapes are tuned, unless conservative"
            ),
        ]
    return tuple(settings)


def _torch_build() -> str:
    """torch's and ROCm's version: what was tuned with one says nothing about another."""
    import torch

    parts = [torch.__version__, *([f"hip{torch.version.hip}"] if torch.version.hip else [])]
    return re.sub(r"[^\w.+-]", "_", "_".join(parts))


def apply_settings(settings: tuple[LibrarySetting, ...]) -> list[Callable[[], None]]:
    """Set them; what comes back undoes each. A variable the environment already has is left alone, and said."""
    undo: list[Callable[[], None]] = []
    for setting in settings:
        change = _environment if setting.key.startswith("env:") else _torch_switch
        done = change(setting)
        if done is not None:
            undo.append(done)
    return undo


def _environment(setting: LibrarySetting) -> Callable[[], None] | None:
    name = setting.key.removeprefix("env:")
    present = os.environ.get(name)
    if present is not None:
        if present != setting.value:
            say_once(f"{name}={present} of the environment stays: AMDConfig.{setting.option} has no effect")
        return None
    os.environ[name] = str(setting.value)

    def undo() -> None:
        os.environ.pop(name, None)

    return undo


def _torch_switch(setting: LibrarySetting) -> Callable[[], None]:
    import torch

    tunable, cudnn = torch.cuda.tunable, torch.backends.cudnn
    if setting.key == "cudnn.enabled":
        before: object = cudnn.enabled
        cudnn.enabled = setting.value
        return lambda: setattr(cudnn, "enabled", before)
    if setting.key == "blas":
        before = torch.backends.cuda.preferred_blas_library()
        torch.backends.cuda.preferred_blas_library(setting.value)
        return lambda: torch.backends.cuda.preferred_blas_library(before) and None
    if setting.key == "tunable.filename":
        before = tunable.get_filename()
        file = Path(str(setting.value))
        try:
            folder = own_folder_in(file.parent.parent, "tunableop")
        except (UsageError, OSError) as error:  # somebody else's, or not writable: no reason to fail
            folder = private_folder(default_cache() / "tunableop")
            say_once(f"tuned GEMMs are kept in {folder}: {error}")
        tunable.set_filename(str(folder / (file.name % torch.cuda.current_device())))
        return lambda: tunable.set_filename(before)
    if setting.key == "tunable.enabled":
        before = tunable.is_enabled()
        tunable.enable(setting.value)
        return lambda: tunable.enable(before)
    if setting.key == "tunable.tuning":
        before = tunable.tuning_is_enabled()
        tunable.tuning_enable(setting.value)
        return lambda: tunable.tuning_enable(before)
    raise AssertionError(f"no such switch: {setting.key}")
