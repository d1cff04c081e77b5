"""TORCHINDUCTOR_MAX_AUTOTUNE is set

What: an environment variable that turns Inductor's kernel search on for every torch.compile call.
Why: `mode="default"` then behaves like max-autotune: minutes per graph on the first run, and hangs were reported on
ROCm. Some ROCm images set it, so nobody in the project knows it is there.
Fix: unset it before any compile; use `mode="max-autotune"` where the search is wanted.
Source: seed 000 rule 3 and phase 6, seed 001 level 1; sglang's docker/rocm.Dockerfile sets it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import is_on, variables
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP130", "max-autotune-env", "environment", Applies.NOT_NVIDIA_ONLY)


def check(machine: Machine) -> Iterator[CheckResult]:
    names = [row.name for row in variables("red") if row.name.startswith("TORCHINDUCTOR_MAX_AUTOTUNE")]
    found = [name for name in names if is_on(machine.probe.env.get(name))]
    for name in found:
        yield CHECK.red(f'{name}={machine.probe.env[name]}: mode="default" compiles like max-autotune', f"unset {name}")
    if not found:
        yield CHECK.ok("TORCHINDUCTOR_MAX_AUTOTUNE is not set")
