"""HSA_OVERRIDE_GFX_VERSION is set

What: A variable makes the runtime treat the GPU as another one.
Why: The GPU then runs code built for the other one. On a close sibling that works (gfx1031 as 10.3.0). Elsewhere it
    faults or computes wrong numbers, and every tool that asks for the target gets the false one. On a GPU that torch
    was built for there is no reason for it.
Fix: Unset it. If torch has no code for this GPU, first install a torch that has (KP109).
Source: https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import base_target
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.versions import release

CHECK = Check("KP134", "gfx-override", "environment", Applies.NOT_NVIDIA_ONLY)
NAME = "HSA_OVERRIDE_GFX_VERSION"


def check(machine: Machine) -> Iterator[CheckResult]:
    names = [name for name in machine.probe.env if name == NAME or name.startswith(NAME + "_")]
    if not names:
        yield CHECK.ok(f"{NAME} is not set")
    for name in names:
        value = machine.probe.env[name]
        pretended = _target(value)
        # The driver's files tell the truth; rocminfo repeats what it was told.
        real = [device.target for device in machine.kfd]
        built_in = {base_target(item) for item in machine.torch_probe.arch_list}
        workaround = bool(real and built_in and not set(real) & built_in and pretended in built_in)
        shown = f"{name}={value}" + (f" ({pretended})" if pretended else "")
        if workaround:
            yield CHECK.warn(f"{shown}: torch has no code for {real[0]}; this is a workaround AMD does not support")
        else:
            truth = f", the GPU is {real[0]}" if real else ""
            yield CHECK.red(f"{shown}{truth}: programs run code built for another GPU", f"unset {name}")


def _target(value: str) -> str:
    parts = release(value)
    return f"gfx{parts[0]}{parts[1]:x}{parts[2]:x}" if len(parts) == 3 else ""
