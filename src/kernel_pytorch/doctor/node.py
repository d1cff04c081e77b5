"""The GPUs of this machine as a node for several processes, in the words the checks share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernel_pytorch.backends.topology import fully_linked
from kernel_pytorch.backends.topology_tools import LINKED, Link
from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.doctor.machine import Machine

NAMES = {"xgmi": "XGMI", "nvlink": "NVLink", "pcie": "PCIe"}
ONE_GPU = "one GPU or none: there is nothing between GPUs"


def computing_devices(machine: Machine) -> tuple[DeviceInfo, ...]:
    """The GPUs this machine computes on: AMD's without a processor's own, else NVIDIA's."""
    if machine.is_amd:
        return tuple(device for device in machine.amd_devices if not device.is_integrated)
    return machine.nvidia_devices


def links_in_words(gpus: int, links: Sequence[Link]) -> str:
    """How the GPUs of a node are connected, in one line."""
    kinds = {link.kind for link in links}
    pairs = gpus * (gpus - 1) // 2
    if fully_linked(tuple(links), gpus) and len(kinds) == 1:
        return f"{gpus} GPUs, every pair linked by {NAMES[kinds.pop()]}"
    if kinds == {"pcie"}:
        return f"{gpus} GPUs, all over PCIe ({ways(links)})"
    direct = sum(link.kind in LINKED for link in links)
    kind = next((NAMES[link.kind] for link in links if link.kind in LINKED), "")
    return f"{gpus} GPUs, {direct} of {pairs} pairs linked by {kind}, the rest over PCIe"


def ways(links: Iterable[Link]) -> str:
    """The tool's words for the ways, each once."""
    return ", ".join(dict.fromkeys(link.detail for link in links if link.detail)) or "way unknown"


def islands(gpus: int, links: Sequence[Link]) -> list[list[int]]:
    """Groups of GPUs that reach each other over direct links."""
    groups = [{gpu} for gpu in range(gpus)]
    for link in links:
        if link.kind in LINKED:
            joined = [group for group in groups if link.first in group or link.second in group]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return sorted(sorted(group) for group in groups)


def listed(gpus: Iterable[int]) -> str:
    """ "0-3, 6" for a list of numbers."""
    runs: list[list[int]] = []
    for gpu in sorted(gpus):
        if runs and gpu == runs[-1][-1] + 1:
            runs[-1].append(gpu)
        else:
            runs.append([gpu])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
