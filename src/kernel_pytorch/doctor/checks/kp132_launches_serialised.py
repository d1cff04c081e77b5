"""A debugging variable that makes launches wait

What: HIP_LAUNCH_BLOCKING, CUDA_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL or AMD_SERIALIZE_COPY is on.
Why: Every launch then waits for the kernel before it. Results stay right, but speed is gone and no profile is worth
    reading. The variable is usually left over from a debugging session.
Fix: Unset it outside debugging.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html (debug variables)
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import is_on, variable
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP132", "launches-serialised", "environment", Applies.NOT_NVIDIA_ONLY)
NAMES = ("HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY")


def check(machine: Machine) -> Iterator[CheckResult]:
    found = [name for name in NAMES if is_on(machine.probe.env.get(name))]
    for name in found:
        yield CHECK.red(f"{name}={machine.probe.env[name]}: {variable(name).what}", f"unset {name}")
    if not found:
        yield CHECK.ok("launches are asynchronous")
