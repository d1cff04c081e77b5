"""GPUs of different targets in one machine

What: The AMD GPUs do not all have the same target. Most often one of them is the GPU inside the processor (gfx1036,
    gfx1103).
Why: Device 0 may be the wrong GPU. Libraries that initialise every device crash on one they have no code for. A build
    for "the" target covers only one of them.
Fix: Show programs only the GPU they should use with HIP_VISIBLE_DEVICES, or switch the integrated GPU off in the
    firmware.
Source: ROCm/TheRock#5543 (a 7900 XT beside a gfx1036: hiding the second one helps);
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP122", "mixed-targets", "gpu", Applies.AMD_GPU)


def check(machine: Machine) -> Iterator[CheckResult]:
    devices = machine.amd_devices
    targets = list(dict.fromkeys(device.target for device in devices if device.target))
    if not devices:
        yield CHECK.not_run("no source lists the GPUs")
        return
    if len(targets) < 2:
        yield CHECK.ok(f"{len(devices)} x {targets[0] if targets else 'unknown target'}")
        return
    discrete = [str(device.index) for device in devices if not device.is_integrated]
    listed = ", ".join(f"{device.index}: {device.target}" for device in devices)
    shown = machine.probe.env.get("HIP_VISIBLE_DEVICES") or machine.probe.env.get("ROCR_VISIBLE_DEVICES")
    if len(discrete) == len(devices) or not discrete:
        yield CHECK.warn(f"GPUs of {len(targets)} targets ({listed}): build and tune for each")
    elif shown is not None:
        yield CHECK.note(f"an integrated GPU beside others ({listed}); visible devices are set to {shown}")
    else:
        yield CHECK.warn(
            f"an integrated GPU beside others ({listed}): programs may pick it or crash on it",
            f"export HIP_VISIBLE_DEVICES={','.join(discrete)}",
        )
