"""max_split_size_mb in the allocator settings

What: PYTORCH_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF or PYTORCH_CUDA_ALLOC_CONF sets max_split_size_mb.
Why: A public porting guide reports a RuntimeError at start-up from the HIP allocator. Current torch (checked: 2.13)
    accepts the option on every back end. Together with expandable_segments, reserved memory was reported to grow until
    the GPU is full on ROCm with torch 2.12 and newer. Each option treats fragmentation; together they do not cure it.
Fix: Drop the option on ROCm and keep the others. NVIDIA machines keep theirs.
Source: https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 5 (the RuntimeError);
    https://github.com/pytorch/pytorch/blob/main/c10/core/AllocatorConfig.h (accepted keys); pytorch/pytorch#123548.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import allocator_options, is_on
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP131", "max-split-size", "environment", Applies.NOT_NVIDIA_ONLY)
OPTION = "max_split_size_mb"


def check(machine: Machine) -> Iterator[CheckResult]:
    settings = allocator_options(machine.probe.env)
    expandable = any(is_on(options.get("expandable_segments")) for options in settings.values())
    found = False
    for name, options in settings.items():
        if OPTION not in options:
            continue
        found = True
        rest = ",".join(f"{key}:{value}" for key, value in options.items() if key != OPTION)
        harm = (
            "with expandable_segments, reserved memory can grow until the GPU is full"
            if expandable
            else "older HIP allocators refuse it, newer ones do not need it"
        )
        yield CHECK.red(
            f"{name} has {OPTION}:{options[OPTION]}: {harm}",
            f"export {name}={quote(rest)}" if rest else f"unset {name}",
        )
    if not found:
        yield CHECK.ok(f"{OPTION} is not set")
