"""A torch that was not built for this GPU

What: The GPU's target is not in the list of targets that torch's kernels were compiled for.
Why: The first kernel fails with "invalid device function" or "no kernel image". Each wheel carries a fixed list of
    targets.
Fix: Take a wheel whose list has the target (AMD's own wheels cover more consumer GPUs), or build torch from source
    with PYTORCH_ROCM_ARCH. HSA_OVERRIDE_GFX_VERSION lets the GPU run a sibling's code (gfx1031 as 10.3.0). AMD does
    not support that.
Source: https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_arch_list.md (the list torch was built for).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import base_target
from kernel_pytorch.doctor.advice import install_rocm_torch
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP109", "torch-lacks-target", "torch", Applies.AMD_TORCH)


def check(machine: Machine) -> Iterator[CheckResult]:
    built_in = {base_target(name) for name in machine.torch_probe.arch_list}
    torch = machine.torch
    assert torch is not None
    if torch.build != "rocm" or not built_in:
        yield CHECK.not_run("torch did not say which targets it was built for")
        return
    missing = [device for device in machine.amd_devices if device.target and device.target not in built_in]
    if not missing:
        yield CHECK.ok(f"torch was built for {', '.join(sorted(built_in))}")
    for target in dict.fromkeys(device.target for device in missing if not device.is_integrated):
        yield CHECK.red(
            f"torch was built for {', '.join(sorted(built_in))}, not for {target}", *install_rocm_torch(machine)
        )
    for device in missing:
        if device.is_integrated:
            yield CHECK.note(f"torch has no code for the integrated {device.target}: hide it (KP122)")
