"""Little disk space

What: Less than 20 GiB is free where packages or caches live. It is red below 2 GiB.
Why: A ROCm torch unpacks to more than 10 GiB, and pip needs the wheel beside it while it unpacks. A full disk leaves a
    half-written torch (KP104). Compile caches fill the rest.
Fix: Free space, or move the caches (KP141) and pip's temporary folder (TMPDIR).
Source: https://github.com/pytorch/test-infra/pull/7690 and ROCm/TheRock#2885 (disks that a ROCm torch filled). The
    size of an unpacked ROCm torch is from practice and was not measured here.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import GIB
from kernel_pytorch.doctor.check import Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP142", "disk-space", "system")
RED_BELOW = 2 * GIB
WARN_BELOW = 20 * GIB


def check(machine: Machine) -> Iterator[CheckResult]:
    places = {"home": machine.probe.home, "temporary files": machine.probe.env.get("TMPDIR", "/tmp")}
    if machine.torch is not None:
        places["packages"] = str(machine.torch.location.parent)
    free = {name: (path, machine.probe.free_bytes(path)) for name, path in places.items()}
    small = {name: (path, size) for name, (path, size) in free.items() if size is not None and size < WARN_BELOW}
    for name, (path, size) in small.items():
        report = CHECK.red if size < RED_BELOW else CHECK.warn
        yield report(f"{size / GIB:.1f} GiB free for {name} ({path})", f"df -h {path}")
    if not small:
        least = min((size for _, size in free.values() if size is not None), default=None)
        yield CHECK.ok(f"{least / GIB:.0f} GiB free") if least is not None else CHECK.not_run("free space is unknown")
