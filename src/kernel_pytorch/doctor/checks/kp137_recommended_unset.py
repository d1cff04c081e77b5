"""Recommended variables that are not set

What: Variables that public AMD tuning guides recommend for this GPU and that are not set.
Why: They are small gains for particular workloads, and several are defaults by now. None is needed for right results,
    so this is a note. `kpt doctor --env` prints them as a block to source, each with what it does.
Fix: `eval "$(kpt doctor --env)"`, or copy the lines you want. Measure before and after.
Source: https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html;
    https://skills.sh/arist12/amd-skills/amd-kernel-optimization, level 1; defaults from
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import variables
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP137", "recommended-unset", "environment", Applies.AMD_GPU)


def check(machine: Machine) -> Iterator[CheckResult]:
    env = machine.probe.env
    targets = [device.target for device in machine.amd_devices if not device.is_integrated]
    rows = [row for row in variables("recommended") if any(row.applies_to(target) for target in targets)]
    unset = [row for row in rows if row.name not in env and not row.is_default]
    other = [row for row in rows if row.name in env and env[row.name] != row.value]
    if unset:
        yield CHECK.note(
            "not set: " + ", ".join(f"{row.name}={row.value}" for row in unset), 'eval "$(kpt doctor --env)"'
        )
    for row in other:
        if row.name != "AMD_LOG_LEVEL":  # KP138 speaks about that one
            yield CHECK.note(f"{row.name}={env[row.name]}, recommended is {row.value}: {row.what}")
    if not unset and not other:
        yield CHECK.ok("recommended variables are set, or are the default" if rows else "none for this GPU")
