"""Level 1: environment variables that act when torch or the driver starts. Only what differs, and only on AMD.

What each does is printed with it. HIP_FORCE_DEV_KERNARG=1 and AMD_LOG_LEVEL=0 are the runtime's own defaults, so they
are set only where somebody set something else. HIP_CACHE_ENABLED is no variable of ROCm's and is not set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, Options, Recipe

if TYPE_CHECKING:
    from torch import nn

NUMA_BALANCING = Path("/proc/sys/kernel/numa_balancing")


@dataclass(frozen=True)
class Variable:
    """One variable. `default` is what the runtime does where it is not set; None: something else than `value`."""

    name: str
    value: str
    why: str
    default: str | None = None

    def differs(self, environment: Mapping[str, str]) -> bool:
        """Setting it would change something."""
        return environment.get(self.name, self.default) != self.value


AMD_VARIABLES = (
    Variable("HSA_NO_SCRATCH_RECLAIM", "1", "scratch memory is kept between kernels that spill"),
    Variable("TORCH_BLAS_PREFER_HIPBLASLT", "1", "hipBLASLt before rocBLAS"),
    Variable("GPU_MAX_HW_QUEUES", "2", "two hardware queues: meant for overlap of RCCL and compute"),
    Variable("HIP_FORCE_DEV_KERNARG", "1", "kernel arguments in device memory", default="1"),
    Variable("AMD_LOG_LEVEL", "0", "no runtime log", default="0"),
)
# Set in some images; turns a default compile into a search that takes minutes.
UNWANTED = Variable("TORCHINDUCTOR_MAX_AUTOTUNE", "0", "no search in default compiles", default="0")


def wanted(vendor: str, environment: Mapping[str, str]) -> tuple[Variable, ...]:
    """The variables that would change something here."""
    known = (*AMD_VARIABLES, UNWANTED) if vendor == "amd" else (UNWANTED,)
    return tuple(one for one in known if one.differs(environment))


def vendor_of(model: nn.Module) -> str:
    """ "amd", "nvidia" or "cpu": where the model's parameters lie."""
    import torch

    from kernel_pytorch.core.platform import is_rocm

    if not any(item.device.type == "cuda" for item in model.parameters()):
        return "cpu"
    return "amd" if is_rocm(torch) else "nvidia"


def _find(model: nn.Module, inputs: Inputs) -> str:
    vendor = vendor_of(model)
    found = wanted(vendor, os.environ)
    if vendor == "cpu":
        raise NotApplicable("the model is not on a GPU")
    if not found:
        what = (
            "every variable has its best value already" if vendor == "amd" else "no variable is known to help on NVIDIA"
        )
        raise NotApplicable(what)
    listed = "; ".join(f"{one.name}={one.value} ({one.why})" for one in found)
    return f"{listed}{_numa_note()}"


def _numa_note(path: Path = NUMA_BALANCING) -> str:
    try:
        is_on = path.read_text(encoding="utf-8").strip() not in ("", "0")
    except OSError:
        return ""
    return "; NUMA balancing is on: `sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'`" if is_on else ""


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    found = {one.name: one.value for one in wanted(vendor_of(model), os.environ)}
    # The queue limit helps where RCCL runs beside compute, and may cost elsewhere: with and without it.
    fewer = {name: value for name, value in found.items() if name != "GPU_MAX_HW_QUEUES"}
    return tuple(one for one in ((found, fewer) if fewer != found else (found,)) if one)


ENVIRONMENT = EnvironmentRung(
    "environment", 1, "environment variables of the driver and the libraries", _find, _choices
)

RUNGS = (ENVIRONMENT,)
