"""Build variables that do not fit this machine

What: ROCM_PATH names a folder that does not exist, HIP_PLATFORM is not amd, or GPU_TARGETS / PYTORCH_ROCM_ARCH leave
    out the GPU of this machine.
Why: An extension then builds against the wrong ROCm, or builds well and fails with "invalid device function" at the
    first launch.
Fix: Unset the variable, or set it to what the machine has. Take the target from the device, never from a script.
Source: https://rocm.docs.amd.com/projects/HIPCC/en/docs-6.4.0/env.html (HIP_PLATFORM, ROCM_PATH);
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py (PYTORCH_ROCM_ARCH).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import base_target
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import variables
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP139", "build-variables", "environment", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    problems = list(_problems(machine))
    yield from problems
    if not problems:
        yield CHECK.ok("build variables fit, or are not set")


def _problems(machine: Machine) -> Iterator[CheckResult]:
    env, probe = machine.probe.env, machine.probe
    root = env.get("ROCM_PATH")
    if root and probe.stat(root) is None and not probe.list_dir(root):
        yield CHECK.warn(f"ROCM_PATH={root} does not exist", "unset ROCM_PATH")
    if env.get("HIP_PLATFORM", "amd") != "amd":
        yield CHECK.warn(f"HIP_PLATFORM={env['HIP_PLATFORM']}: hipcc does not build for AMD", "export HIP_PLATFORM=amd")
    present = [device.target for device in machine.amd_devices if device.target and not device.is_integrated]
    for row in variables("target"):
        listed = {base_target(item) for item in re.split(r"[;,\s]+", env.get(row.name, "")) if item}
        left_out = [target for target in dict.fromkeys(present) if target not in listed]
        if listed and left_out and "native" not in listed:
            yield CHECK.warn(
                f"{row.name}={env[row.name]} leaves out this machine's {', '.join(left_out)}",
                f"export {row.name}='{';'.join(dict.fromkeys(present))}'",
            )
