"""A torch without ROCm on an AMD machine

What: The GPU is an AMD GPU, but `torch.version.hip` is None. The build is for CUDA, or for no GPU at all.
Why: `torch.cuda.is_available()` is False, so everything runs on the CPU, often without a message. If the only AMD GPU
    is the one inside the processor, this is a warning: many people do not mean to compute on it.
Fix: Install the ROCm build from its own package index. It brings its own ROCm libraries; the machine only needs the
    driver.
Source: https://docs.pytorch.org/docs/main/notes/hip.html (how to tell a ROCm build: `torch.version.hip`);
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.advice import install_rocm_torch
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP102", "torch-without-rocm", "torch", Applies.AMD_TORCH)


def check(machine: Machine) -> Iterator[CheckResult]:
    torch = machine.torch
    assert torch is not None
    if torch.build == "rocm":
        yield CHECK.ok(f"torch.version.hip is {torch.hip}")
    elif torch.build == "cuda" and machine.nvidia_devices:
        yield CHECK.note("a CUDA torch beside AMD and NVIDIA GPUs: it sees the NVIDIA ones only")
    else:
        kind = "a CUDA build" if torch.build == "cuda" else "a CPU build"
        only_integrated = bool(machine.amd_devices) and all(device.is_integrated for device in machine.amd_devices)
        report = CHECK.warn if only_integrated else CHECK.red
        gpu = f"the integrated GPU ({machine.amd_devices[0].target})" if only_integrated else "the GPU"
        yield report(
            f"torch {torch.version} is {kind}, but {gpu} is AMD's: torch cannot use it", *install_rocm_torch(machine)
        )
