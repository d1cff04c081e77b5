"""The runtime writes a log

What: AMD_LOG_LEVEL is above 0.
Why: From level 3 the runtime writes a line for every call, which slows launches and fills disks.
Fix: Unset it, or set it to 0, which is the default.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/logging.html (logging is off by default)
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import is_on
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP138", "runtime-logging", "environment", Applies.NOT_NVIDIA_ONLY)


def check(machine: Machine) -> Iterator[CheckResult]:
    value = machine.probe.env.get("AMD_LOG_LEVEL")
    if is_on(value):
        yield CHECK.warn(f"AMD_LOG_LEVEL={value}: the runtime logs its calls", "export AMD_LOG_LEVEL=0")
    else:
        yield CHECK.ok("the runtime's log is off")
