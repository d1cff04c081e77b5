"""AMD packages that are present

What: aiter, a ROCm build of flash-attn, and other packages that are faster on AMD than their general counterparts.
Why: AMD's images carry them, and installing over them (a flash-attn from PyPI, a second aiter) loses them. A port
    should use what is there before it falls back to torch's own attention.
Fix: Nothing to do. Leave them in place.
Source: https://github.com/Dao-AILab/flash-attention#amd-rocm-support;
    https://github.com/ROCm/aiter#supported-hardware; https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.packages import AMD_PACKAGES, built_for

CHECK = Check("KP151", "amd-packages", "packages", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    named = [item for item in machine.distributions if item.name in AMD_PACKAGES]
    built = [item for item in machine.distributions if item not in named and built_for(item) == "rocm"]
    present = [f"{item.name} {item.version}" for item in named]
    present += [f"{item.name} {item.version} (ROCm build)" for item in built]
    if present:
        yield CHECK.note("present: " + ", ".join(present))
    else:
        yield CHECK.note("neither aiter nor a ROCm flash-attn: attention will run on torch's own kernels")
