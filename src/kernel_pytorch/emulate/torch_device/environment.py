"""What the environment of a program must say so that its torch presents the emulated GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kernel_pytorch.core.hardware import GPU

START = Path(__file__).with_name("start")
WANTED = "KPT_TORCH_DEVICE"
RUNTIME = "KPT_TORCH_RUNTIME"
# ATen's vector code and MKL give the same bits as on the CPU when memory starts where the CPU's allocator would start.
_ALIGNMENT = "64"


def with_torch_device(environment: Mapping[str, str], gpu: GPU, runtime: Path) -> dict[str, str]:
    """The environment with our start folder first in PYTHONPATH. `runtime` has libamdhip64.so."""
    return {**environment, **device_variables(environment, gpu, runtime), "PYTHONPATH": _start_path(environment)}


def _start_path(environment: Mapping[str, str]) -> str:
    entries = [str(START), *(entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry)]
    return os.pathsep.join(entries)


def device_variables(environment: Mapping[str, str], gpu: GPU, runtime: Path) -> dict[str, str]:
    """What the C++ part and `install` read."""
    return {
        WANTED: "1",
        RUNTIME: str(runtime),
        "KPT_TORCH_FUSED_ATTENTION": "1" if "aotriton" in gpu.target.libraries else "0",
        "KPT_TORCH_FP8": gpu.target.fp8_format or "",
        "KPT_TORCH_TARGET": gpu.target.name,
        "KPT_EMULATE_ALIGNMENT": environment.get("KPT_EMULATE_ALIGNMENT", _ALIGNMENT),
    }
