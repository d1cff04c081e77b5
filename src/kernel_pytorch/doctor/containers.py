"""Are we inside a container, and which flags would give it the GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.core.probe import Probe


@dataclass(frozen=True)
class Container:
    """The kind of container, and the command that starts one."""

    kind: str  # "docker", "podman", "apptainer", "kubernetes" or "container"

    @property
    def program(self) -> str:
        return "podman" if self.kind == "podman" else "docker"


def find_container(probe: Probe) -> Container | None:
    """The container this process runs in, None on a bare machine."""
    if probe.env.get("KUBERNETES_SERVICE_HOST"):
        return Container("kubernetes")
    if probe.env.get("APPTAINER_CONTAINER") or probe.env.get("SINGULARITY_CONTAINER"):
        return Container("apptainer")
    if probe.stat("/run/.containerenv") is not None:
        return Container("podman")
    if probe.stat("/.dockerenv") is not None:
        return Container("docker")
    groups = probe.read_text("/proc/1/cgroup") or ""
    match = re.search(r"(docker|podman|libpod|kubepods|containerd|lxc)", groups)
    if match:
        kind = {"libpod": "podman", "kubepods": "kubernetes"}.get(match.group(1), match.group(1))
        return Container(kind if kind in ("docker", "podman", "kubernetes") else "container")
    return None


def start_flags(container: Container, group_ids: tuple[int, ...] = ()) -> str:
    """The AMD flags of this container's start command. Group numbers, because names differ between host and image."""
    if container.kind == "apptainer":
        return "apptainer exec --rocm IMAGE ..."
    if container.kind == "kubernetes":
        return 'resources: {limits: {"amd.com/gpu": 1}}   # needs the AMD GPU device plugin on the cluster'
    groups = " ".join(f"--group-add {gid}" for gid in group_ids) or "--group-add video --group-add render"
    keep = " --group-add keep-groups" if container.kind == "podman" and not group_ids else ""
    return (
        f"{container.program} run --device /dev/kfd --device /dev/dri {'' if keep else groups}{keep} "
        "--security-opt seccomp=unconfined --ipc=host --shm-size 16G IMAGE ..."
    ).replace("  ", " ")
