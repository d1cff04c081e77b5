"""What a program on an emulated GPU sees as ROCm, and what our own children see instead.

The program finds a folder with ROCm's tools, which answer for the emulated GPU; its hipcc is ours. The compilers and
the translator that are started for it must find this machine's real tools: they get the old values back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.toolchain.rocm_folder import rocm_folder

_KEPT = "KPT_EMULATE_OUTSIDE"
_ROOTS = ("ROCM_HOME", "ROCM_PATH", "HIP_PATH")


def with_rocm(environment: Mapping[str, str], folder: Path, gpu: GPU, devices: int) -> dict[str, str]:
    """The environment with a stood-in ROCm first, and the values that this hides."""
    rocm = rocm_folder(folder, gpu, devices, python_module("kernel_pytorch.emulate.hipcc"))
    hidden = {name: environment.get(name) for name in (*_ROOTS, "PATH")}
    path = os.pathsep.join((str(rocm / "bin"), environment.get("PATH", os.defpath)))
    return {**environment, **dict.fromkeys(_ROOTS, str(rocm)), "PATH": path, _KEPT: json.dumps(hidden)}


def step_outside() -> None:
    """In a child of ours: take the hidden values back."""
    for name, value in json.loads(os.environ.pop(_KEPT, "{}")).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
