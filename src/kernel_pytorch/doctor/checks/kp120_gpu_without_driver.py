"""An AMD GPU without its driver

What: An AMD GPU is on the PCI bus, but the amdgpu compute driver has not taken it: there is no /sys/class/kfd.
Why: Without the kernel driver no ROCm program sees the GPU, whatever else is installed.
Fix: Install and load the amdgpu driver on the host. In a virtual machine, pass the GPU through.
Source: https://rocm.docs.amd.com/en/latest/_sources/compatibility/compatibility-matrix.rst (ROCm needs a matching
    kernel driver).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP120", "gpu-without-driver", "gpu", Applies.NOT_NVIDIA_ONLY)


def check(machine: Machine) -> Iterator[CheckResult]:
    if machine.has_amd_driver:
        yield CHECK.ok("the amdgpu driver is loaded")
    elif machine.pci:
        where = ", ".join(machine.pci[:4])
        yield CHECK.red(
            f"AMD GPU at {where}, but the amdgpu driver is not loaded",
            "sudo modprobe amdgpu",
            "sudo dmesg | grep -i amdgpu | tail -20",
        )
    elif machine.torch is not None and machine.torch.build == "rocm":
        yield CHECK.warn("a ROCm torch is installed, but this machine shows no AMD GPU and no amdgpu driver")
    else:
        yield CHECK.note("no AMD GPU on this machine: what needs one is reported as not applicable")
