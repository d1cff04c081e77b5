"""Little shared memory in a container

What: /dev/shm has less than 1 GiB in a container on an AMD machine.
Why: RCCL and torch's data loaders pass tensors through shared memory. Docker gives 64 MiB by default, and the failure
    is a bus error in a worker.
Fix: Start the container with --shm-size 16G or --ipc=host.
Source: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html; PyTorch's README, "Docker
    Image" (--ipc=host or --shm-size).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import GIB
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.containers import start_flags
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP143", "shared-memory", "system", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    free = machine.probe.free_bytes("/dev/shm")
    if machine.container is None:
        yield CHECK.ok("not in a container")
    elif free is None:
        yield CHECK.not_run("/dev/shm cannot be asked")
    elif free < GIB:
        yield CHECK.warn(f"/dev/shm has {free / 2**20:.0f} MiB free", start_flags(machine.container))
    else:
        yield CHECK.ok(f"/dev/shm has {free / GIB:.0f} GiB free")
