"""Torch's ROCm and the installed ROCm differ

What: Torch was built with one ROCm release, and another one is installed on the system.
Why: A torch wheel carries its own ROCm libraries, so torch itself runs. But extensions are compiled with the system's
    hipcc and headers and are then loaded into torch's runtime. Across a major release that does not work.
Fix: To build extensions, install the ROCm release that torch was built with, or the torch built for your ROCm. If
    either is too old for the GPU, take a newer one.
Source: https://rocm.docs.amd.com/en/latest/_sources/compatibility/compatibility-matrix.rst (ROCm compatibility
    matrix). The first ROCm release of each GPU comes from ROCm's release notes and was not checked again.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.advice import install_rocm_torch
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.compatibility import first_rocm, rocm_knows
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.versions import minor, release

CHECK = Check("KP105", "torch-rocm-pair", "torch", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    installed = machine.platform.rocm_version
    built_with = machine.torch.rocm_version if machine.torch and machine.torch.build == "rocm" else None
    for owner, version in (("torch was built with", built_with), ("the system has", installed)):
        for target in dict.fromkeys(device.target for device in machine.amd_devices):
            if version and rocm_knows(target, version) is False:
                fix = install_rocm_torch(machine) if owner.startswith("torch") else ()
                yield CHECK.red(
                    f"{owner} ROCm {minor(version)}, which does not know {target} (first in {first_rocm(target)})", *fix
                )
    if not built_with:
        yield CHECK.not_run("no ROCm torch to compare")
    elif not installed:
        yield CHECK.note(
            f"torch was built with ROCm {minor(built_with)}; no ROCm on the system: torch runs, extensions do not build"
        )
    elif release(installed)[:1] != release(built_with)[:1]:
        yield CHECK.warn(
            f"torch was built with ROCm {minor(built_with)}, the system has {installed}: extensions built here will "
            "not load into this torch"
        )
    elif minor(installed) != minor(built_with):
        yield CHECK.note(f"torch was built with ROCm {minor(built_with)}, the system has {installed}: usually fine")
    else:
        yield CHECK.ok(f"torch and the system agree on ROCm {minor(installed)}")
