"""A device node that this user may not open

What: /dev/kfd or a /dev/dri/renderD* node exists, but this user cannot open it for reading and writing.
Why: The nodes belong to a group, `render` on most systems and `video` on older ones. What counts is the number of that
    group. Inside a container the same number often has another name or none, so adding the user to the image's own
    `render` group changes nothing.
Fix: On a bare machine, join the owning group and log in again. For a container, pass the number with --group-add.
Source: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html; ROCm/ROCm-docker#116 (the
    number of the group counts).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.containers import start_flags
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP124", "device-node-locked", "gpu", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    probe = machine.probe
    render = [f"/dev/dri/{name}" for name in probe.list_dir("/dev/dri") if name.startswith("renderD")]
    nodes = [path for path in ("/dev/kfd", *render) if probe.stat(path) is not None]
    if not nodes:
        yield CHECK.not_run("no device nodes to open (KP123)")
        return
    locked = {path: reason for path in nodes if (reason := probe.open_error(path))}
    owners = {stat.gid for path in nodes if (stat := probe.stat(path)) is not None}
    if not locked:
        named = ", ".join(probe.group_name(gid) for gid in sorted(owners))
        yield CHECK.ok(f"{counted(len(nodes), 'node')} of group {named} open for {probe.user}")
        return
    missing = tuple(sorted(owners - probe.gids - {0}))
    paths = ", ".join(list(locked)[:3])
    if missing:
        groups = " and ".join(f"{probe.group_name(gid)} ({gid})" for gid in missing)
        if machine.container is not None:
            fix = [start_flags(machine.container, missing)]
        else:
            names = ",".join(probe.group_name(gid) for gid in missing)
            fix = [f"sudo usermod -aG {names} {probe.user}", "# then log in again"]
        yield CHECK.red(f"{probe.user} is not in group {groups}, which owns {paths}", *fix)
        return
    reason = next(iter(locked.values()))
    fix = [start_flags(machine.container)] if machine.container else [f"ls -l {' '.join(locked)}"]
    yield CHECK.red(f"{paths} does not open: {reason}", *fix)
