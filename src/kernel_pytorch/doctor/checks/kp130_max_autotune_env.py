"""TORCHINDUCTOR_MAX_AUTOTUNE is set

What: An environment variable turns Inductor's kernel search on for every torch.compile call.
Why: `mode="default"` then behaves like max-autotune: the first run takes minutes per graph, and hangs were reported on
    ROCm. Some ROCm images set the variable, so nobody in the project knows it is there.
Fix: Unset it before any compile. Use `mode="max-autotune"` where you want the search.
Source: https://github.com/sgl-project/sglang/blob/main/docker/rocm.Dockerfile (sets it);
    https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py (reads it);
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, rule 3.
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
