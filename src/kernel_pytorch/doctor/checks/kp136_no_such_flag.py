"""A variable that no part of ROCm reads

What: A variable from a guide or a script that ROCm's runtime does not have.
Why: It does nothing, although somebody set it because it should. HIP_CACHE_ENABLED is one of them. The compile cache
    that exists is AMD_COMGR_CACHE, and it is on by default in current ROCm.
Fix: Remove it from scripts and images. Nothing needs to replace it.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html (the list does not have it);
    Arist12/AMD-Skills on GitHub, amd-rocm-porting/references/torch-compile-and-cudagraph.md (names HIP_CACHE_ENABLED).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import variables
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP136", "no-such-flag", "environment", Applies.NOT_NVIDIA_ONLY)


def check(machine: Machine) -> Iterator[CheckResult]:
    found = [row for row in variables("no-such-flag") if row.name in machine.probe.env]
    for row in found:
        yield CHECK.warn(f"{row.name}={machine.probe.env[row.name]}: {row.what}", f"unset {row.name}")
    if not found:
        yield CHECK.ok("no variable that ROCm does not know")
