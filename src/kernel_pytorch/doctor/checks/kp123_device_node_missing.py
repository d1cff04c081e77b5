"""/dev/kfd or /dev/dri is missing

What: The driver knows the GPU, but the device nodes that a program opens are not there.
Why: ROCm opens /dev/kfd for compute and /dev/dri/renderD* for memory. Without them a program finds no GPU. A container
    has them only if it was started with the AMD flags; NVIDIA's `--gpus all` does not add them.
Fix: In a container, start it again with the flags that doctor prints. On a bare machine the driver did not finish
    loading: see dmesg.
Source: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.containers import start_flags
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP123", "device-node-missing", "gpu", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    missing = [] if machine.probe.stat("/dev/kfd") else ["/dev/kfd"]
    if not any(name.startswith("renderD") for name in machine.probe.list_dir("/dev/dri")):
        missing.append("/dev/dri/renderD*")
    if not missing:
        yield CHECK.ok("/dev/kfd and /dev/dri/renderD* are there")
        return
    what = " and ".join(missing)
    host_has_gpu = machine.has_amd_gpu or machine.has_amd_driver
    if machine.container is not None:
        flags = start_flags(machine.container)
        if host_has_gpu:
            yield CHECK.red(f"the host has an AMD GPU, but this {machine.container.kind} got no {what}", flags)
        else:
            yield CHECK.warn(
                f"no {what} in this {machine.container.kind}; on an AMD host, start it with these flags", flags
            )
    elif host_has_gpu:
        yield CHECK.red(f"no {what}, though the GPU is there", "sudo dmesg | grep -iE 'amdgpu|kfd' | tail -30")
    else:
        yield CHECK.note(f"no {what}: no AMD GPU on this machine")
