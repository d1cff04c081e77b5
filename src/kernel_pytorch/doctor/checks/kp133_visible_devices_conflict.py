"""Visible-devices variables that contradict each other

What: HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES or GPU_DEVICE_ORDINAL are set together and do not
    agree, or leave no GPU.
Why: HIP reads its own name and CUDA's. Which one counts depends on the version, and launchers (Ray) refuse to start
    when they differ. ROCR filters below HIP, and HIP counts within what ROCR left: ROCR=2,3 with HIP=2,3 leaves
    nothing.
Fix: Set one of them. AMD advises ROCR_VISIBLE_DEVICES on Linux; HIP_VISIBLE_DEVICES is the most used.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html (GPU isolation variables);
    https://rocm.docs.amd.com/en/docs-6.1.2/conceptual/gpu-isolation.html; ray-project/ray#52701.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP133", "visible-devices-conflict", "environment", Applies.NOT_NVIDIA_ONLY)
HIP_LEVEL = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


def check(machine: Machine) -> Iterator[CheckResult]:
    env = machine.probe.env
    lists = {name: _items(env[name]) for name in (*HIP_LEVEL, "ROCR_VISIBLE_DEVICES") if name in env}
    above = {name: items for name, items in lists.items() if name != "ROCR_VISIBLE_DEVICES"}
    problems = False
    if len(set(above.values())) > 1:
        problems = True
        shown = ", ".join(f"{name}={env[name]!r}" for name in above)
        others = [name for name in above if name != next(iter(above))]
        yield CHECK.red(f"{shown}: which one counts depends on the version", *(f"unset {name}" for name in others))
    below = lists.get("ROCR_VISIBLE_DEVICES")
    for name, items in above.items():
        outside = [item for item in items if below is not None and item.isdigit() and int(item) >= len(below)]
        if outside:
            problems = True
            yield CHECK.red(
                f"{name}={env[name]} counts within ROCR_VISIBLE_DEVICES={env['ROCR_VISIBLE_DEVICES']}, which has only "
                f"{len(below or ())}: device {outside[0]} does not exist",
                f"unset {name}",
            )
    for name, items in lists.items():
        if not items or items == ("-1",):
            problems = True
            yield CHECK.warn(f"{name}={env[name]!r} hides every GPU", f"unset {name}")
    if not problems:
        yield CHECK.ok("visible devices: " + (", ".join(f"{n}={env[n]}" for n in lists) or "all"))


def _items(value: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in value.split(",") if item.strip())
