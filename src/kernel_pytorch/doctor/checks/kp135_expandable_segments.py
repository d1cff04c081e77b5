"""expandable_segments where it is not supported

What: The allocator settings ask for expandable_segments.
Why: Porting guides call it a safe ROCm setting. It works on ROCm from torch 2.11 with ROCm 7.0; before that, torch
    prints a warning and ignores it. An open report describes a hang in the first copy to the GPU with it.
Fix: Drop it on older versions. On newer ones keep it if it helps against fragmentation, and drop it first if a copy to
    the GPU hangs.
Source: pytorch/pytorch#177974 and #179930 (support on ROCm); pytorch/pytorch#192259 (the hang, open);
    https://skills.sh/arist12/amd-skills/amd-rocm-porting (calls it safe).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.environment import allocator_options, is_on
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.versions import release

CHECK = Check("KP135", "expandable-segments", "environment", Applies.AMD)


def supported(torch_version: str | None, rocm_version: str | None) -> bool | None:
    """Whether torch implements it on ROCm. None where a version is unknown."""
    if not release(torch_version) or not release(rocm_version):
        return None
    return release(torch_version)[:2] >= (2, 11) and release(rocm_version)[:2] >= (7, 0)


def check(machine: Machine) -> Iterator[CheckResult]:
    settings = allocator_options(machine.probe.env)
    names = [name for name, options in settings.items() if is_on(options.get("expandable_segments"))]
    if not names:
        yield CHECK.ok("expandable_segments is not set")
        return
    torch = machine.torch
    works = supported(torch.version, torch.rocm_version) if torch and torch.build == "rocm" else None
    if works is None:
        yield CHECK.note(f"{names[0]} sets expandable_segments: on ROCm it needs torch >= 2.11 and ROCm >= 7.0")
    elif works:
        yield CHECK.note(f"{names[0]} sets expandable_segments: supported here; drop it if a copy to the GPU hangs")
    else:
        assert torch is not None
        yield CHECK.warn(
            f"{names[0]} sets expandable_segments, which torch {torch.version} ignores on ROCm", f"unset {names[0]}"
        )
