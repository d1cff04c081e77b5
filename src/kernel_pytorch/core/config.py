"""Configuration in code: AMDConfig, AMDArchitecture, KernelPyTorchConfig.

Names and defaults are a fixed interface (docs/configuration.md). Three options default to what suits the architecture;
an option that the caller set is never changed behind the caller's back. `config_sources.py` reads TOML files and
environment variables.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.errors import AMDConfigurationError

__all__ = ["ARCHITECTURE_DEFAULTS", "AMDArchitecture", "AMDConfig", "KernelPyTorchConfig"]

OPTIMIZATION_LEVELS = ("conservative", "balanced", "aggressive")
PRECISIONS = ("fp32", "fp16", "bf16")
MIOPEN_FIND_MODES = ("NORMAL", "FAST", "HYBRID")
BACKENDS = ("auto", "amd", "nvidia", "cpu")

_CONSERVATIVE = {"optimization_level": "conservative", "enable_matrix_cores": False, "default_precision": "fp32"}

ARCHITECTURE_DEFAULTS: Mapping[AMDArchitecture, Mapping[str, object]] = {
    # Not known yet: general defaults, until `for_architecture` is told what the device is.
    AMDArchitecture.AUTO: {
        "optimization_level": "balanced",
        "enable_matrix_cores": True,
        "default_precision": "fp32",
    },
    AMDArchitecture.GCN5: _CONSERVATIVE,
    AMDArchitecture.CDNA: {
        "optimization_level": "balanced",
        "enable_matrix_cores": True,
        "default_precision": "fp16",  # gfx908 does bf16 at half the rate of fp16
    },
    AMDArchitecture.CDNA2: {
        "optimization_level": "balanced",
        "enable_matrix_cores": True,
        "default_precision": "fp16",
    },
    AMDArchitecture.CDNA3: {
        "optimization_level": "aggressive",
        "enable_matrix_cores": True,
        "default_precision": "bf16",
    },
    AMDArchitecture.CDNA4: {
        "optimization_level": "aggressive",
        "enable_matrix_cores": True,
        "default_precision": "bf16",
    },
    # No product with it has published figures: nothing is tuned for it.
    AMDArchitecture.CDNA5: {
        "optimization_level": "balanced",
        "enable_matrix_cores": True,
        "default_precision": "bf16",
    },
    AMDArchitecture.RDNA2: _CONSERVATIVE,
    # RDNA3 and RDNA4 do have matrix units (WMMA). They are off by default; a caller may turn them on.
    AMDArchitecture.RDNA3: _CONSERVATIVE,
    AMDArchitecture.RDNA4: _CONSERVATIVE,
}

WITHOUT_MATRIX_UNITS = (AMDArchitecture.GCN5, AMDArchitecture.RDNA2)

# Stands for "what suits the architecture"; typed Any so that the fields keep their real types.
_BY_ARCHITECTURE: Any = None


@dataclass(frozen=True)
class AMDConfig:
    """Options of the AMD back end. Invalid values raise AMDConfigurationError when the object is made."""

    # Hardware
    architecture: AMDArchitecture = AMDArchitecture.AUTO
    device_id: int = 0

    # Optimisation
    optimization_level: str = _BY_ARCHITECTURE
    enable_matrix_cores: bool = _BY_ARCHITECTURE
    enable_mixed_precision: bool = True
    enable_operator_fusion: bool = True

    # Memory
    enable_memory_pooling: bool = True
    memory_pool_size_gb: float = 8.0
    max_memory_fraction: float = 0.9

    # Compiler
    hip_kernel_cache_enabled: bool = True
    hip_compiler_cache_size: int = 100
    hip_compiler_cache_dir: str = "/tmp/hip_cache"

    # Libraries
    rocblas_enabled: bool = True
    enable_rocblas_tuning: bool = True
    miopen_enabled: bool = True
    miopen_find_mode: str = "NORMAL"

    # Precision
    default_precision: str = _BY_ARCHITECTURE
    allow_fp16: bool = True
    allow_bf16: bool = True

    # Profiling
    enable_profiling: bool = False

    # Validation
    enable_strict_validation: bool = False
    enable_oom_protection: bool = True

    caller_set: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())
    """Which of the architecture-dependent options the caller chose."""

    def __post_init__(self) -> None:
        defaults = ARCHITECTURE_DEFAULTS[_architecture(self.architecture)]
        chosen = frozenset(name for name in defaults if getattr(self, name) is not None)
        object.__setattr__(self, "architecture", _architecture(self.architecture))
        object.__setattr__(self, "caller_set", chosen)
        for name in defaults.keys() - chosen:
            object.__setattr__(self, name, defaults[name])
        object.__setattr__(self, "hip_compiler_cache_dir", str(self.hip_compiler_cache_dir))
        _validate(self)

    def for_architecture(self, architecture: AMDArchitecture) -> AMDConfig:
        """This configuration on a known architecture: its defaults, under whatever the caller set."""
        settings = {
            item.name: getattr(self, item.name)
            for item in dataclasses.fields(self)
            if item.init and (item.name not in ARCHITECTURE_DEFAULTS[architecture] or item.name in self.caller_set)
        }
        return AMDConfig(**{**settings, "architecture": architecture})

    def to_dict(self) -> dict[str, object]:
        """Plain values, in the form `AMDConfig(**values)` and TOML take."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.init}
        return {**values, "architecture": self.architecture.value}


@dataclass(frozen=True)
class KernelPyTorchConfig:
    """The whole configuration: which back end, which device, and the options of the AMD back end."""

    backend: str = "auto"
    device_id: int = 0
    amd: AMDConfig = field(default_factory=AMDConfig)

    def __post_init__(self) -> None:
        _one_of(self, "backend", BACKENDS)
        _integer(self, "device_id", minimum=0)
        if not isinstance(self.amd, AMDConfig):
            raise AMDConfigurationError("amd", self.amd, "pass an AMDConfig")


def _architecture(value: object) -> AMDArchitecture:
    """Accepts the enum and, for files and environment variables, its names in any case."""
    if isinstance(value, AMDArchitecture):
        return value
    if isinstance(value, str) and value.upper() in AMDArchitecture.__members__:
        return AMDArchitecture[value.upper()]
    raise AMDConfigurationError("architecture", value, f"one of {', '.join(AMDArchitecture.__members__)}")


def _validate(config: AMDConfig) -> None:
    for item in dataclasses.fields(config):
        if item.type == "bool" and not isinstance(getattr(config, item.name), bool):
            raise AMDConfigurationError(item.name, getattr(config, item.name), "True or False")
    _integer(config, "device_id", minimum=0)
    _integer(config, "hip_compiler_cache_size", minimum=1)
    _one_of(config, "optimization_level", OPTIMIZATION_LEVELS)
    _one_of(config, "default_precision", PRECISIONS)
    _one_of(config, "miopen_find_mode", MIOPEN_FIND_MODES)
    _number(config, "memory_pool_size_gb", above=0.0, up_to=math.inf)
    _number(config, "max_memory_fraction", above=0.0, up_to=1.0)
    if not config.hip_compiler_cache_dir.strip():
        raise AMDConfigurationError("hip_compiler_cache_dir", config.hip_compiler_cache_dir, "a directory path")
    for precision in ("fp16", "bf16"):
        if config.default_precision == precision and not getattr(config, f"allow_{precision}"):
            raise AMDConfigurationError(
                "default_precision", precision, f"allow_{precision} is False: allow it or choose another precision"
            )
    if config.enable_matrix_cores and config.architecture in WITHOUT_MATRIX_UNITS:
        raise AMDConfigurationError(
            "enable_matrix_cores", True, f"{config.architecture.name} has no matrix units: leave it out or pass False"
        )


def _one_of(config: object, name: str, allowed: tuple[str, ...]) -> None:
    value = getattr(config, name)
    if value not in allowed:
        raise AMDConfigurationError(name, value, f"one of {', '.join(allowed)}")


def _integer(config: object, name: str, *, minimum: int) -> None:
    value = getattr(config, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise AMDConfigurationError(name, value, f"an integer, {minimum} or more")


def _number(config: object, name: str, *, above: float, up_to: float) -> None:
    value = getattr(config, name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not above < value <= up_to:
        upper = "" if math.isinf(up_to) else f" and at most {up_to:g}"
        raise AMDConfigurationError(name, value, f"a number above {above:g}{upper}")
