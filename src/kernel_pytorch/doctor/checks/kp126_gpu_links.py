"""GPUs of one node that are not linked

What: How the GPUs of this machine are connected (XGMI, NVLink, PCIe), from amd-smi, rocm-smi, the driver's files or
    nvidia-smi. It is a warning if some GPUs of the node have direct links and others of the same kind have none.
Why: A collective is as fast as its slowest link. On a board whose GPUs are all linked (MI300X, H100 SXM), a GPU that
    others reach over PCIe only has lost its links, or was given to this machine without its neighbours. Cards linked
    in pairs by bridges are normal; place jobs on such pairs.
Fix: Compare with `amd-smi topology` or `nvidia-smi topo -m` on the host. A reset or a reboot brings lost links back.
Source: https://rocm.docs.amd.com/projects/amdsmi/en/develop/how-to/amdsmi-cli-tool.html (`amd-smi topology`, `amd-smi
    xgmi`); nvidia-smi's manual page (`topo`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import UnknownTargetError, target
from kernel_pytorch.doctor.check import NOT_APPLICABLE, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.node import ONE_GPU, computing_devices, islands, links_in_words, listed

CHECK = Check("KP126", "gpu-links", "gpu")


def check(machine: Machine) -> Iterator[CheckResult]:
    devices = computing_devices(machine)
    if len(devices) < 2:
        yield CHECK.not_run(NOT_APPLICABLE + ONE_GPU)
        return
    node = machine.node
    if not node.links:
        asked = "amd-smi, rocm-smi and the driver" if machine.is_amd else "nvidia-smi"
        yield CHECK.not_run(f"{asked} say nothing about links between the {len(devices)} GPUs")
        return
    summary = f"{links_in_words(node.gpus, node.links)} ({node.source})"
    groups = islands(node.gpus, node.links)
    alone = [group[0] for group in groups if len(group) == 1]
    if len(groups) == 1 or len(alone) == node.gpus:
        yield CHECK.ok(summary)
    elif alone and _comes_on_a_linked_board(devices[0].target):
        tool = "amd-smi topology" if machine.is_amd else "nvidia-smi topo -m"
        yield CHECK.warn(f"{summary}: GPU {listed(alone)} has no direct link, unlike the others", tool)
    else:
        shown = "; ".join(listed(group) for group in groups)
        yield CHECK.note(f"{summary}. Jobs are fastest within a group: GPUs {shown}")


def _comes_on_a_linked_board(name: str) -> bool:
    try:
        row = target(name)
    except UnknownTargetError:
        return False
    return row.matrix == "mfma" or name in ("sm_90", "sm_100")
