"""How the GPUs of one machine are connected, and what RCCL and NCCL should be told about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernel_pytorch.backends.topology_tools import (
    LINKED,
    Link,
    Node,
    parse_amd_smi,
    parse_nvidia_smi,
    parse_rocm_smi,
)
from kernel_pytorch.core.hardware import UnknownTargetError
from kernel_pytorch.core.hardware import target as find_target
from kernel_pytorch.core.probe import Probe
from kernel_pytorch.core.vendor_kfd import KFD_NODES, PCI_DEVICES

__all__ = [
    "Link",
    "Node",
    "Variable",
    "collective_variables",
    "fully_linked",
    "gpu_links",
    "missing_variables",
    "node_topology",
]

# Link types of the kernel's topology (HSA_IOLINKTYPE in the amdkfd headers).
_KFD_LINKS = {"2": "pcie", "11": "xgmi"}
_SMI_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Variable:
    """An environment variable for the collective library, and why. `by_topology`: because of this node's links."""

    name: str
    value: str
    why: str
    by_topology: bool = True


def gpu_links(vendor: str, probe: Probe) -> tuple[Link, ...]:
    """The links between the GPUs of this machine; empty where neither the driver nor a tool tells."""
    # The driver's files are read at once; a tool takes seconds.
    node = _from_driver(probe) if vendor == "amd" else None
    return (node or node_topology(vendor, probe)).links


def node_topology(vendor: str, probe: Probe) -> Node:
    """Links, peer access and NUMA nodes, from the tool that tells most; for AMD the driver's files if no tool works."""
    if vendor == "nvidia":
        return _nvidia(probe)
    if vendor != "amd":
        return Node()
    answer = _first_that_tells(probe) or _from_driver(probe) or Node()
    return replace(answer, numa_nodes=_numa_by_address(answer, probe))


def fully_linked(links: tuple[Link, ...], gpus: int) -> bool:
    """Has every pair of `gpus` GPUs a direct XGMI or NVLink connection?"""
    pairs = {frozenset((link.first, link.second)) for link in links if link.kind in LINKED}
    return gpus > 1 and len(pairs) >= gpus * (gpus - 1) // 2


def collective_variables(
    vendor: str, target: str, links: tuple[Link, ...], gpus: int, parallel: str | None
) -> tuple[Variable, ...]:
    """What to set before the first collective. Only what the vendor documents for this topology."""
    wanted = []
    if vendor == "amd":
        if parallel == "fsdp":
            wanted.append(Variable("GPU_MAX_HW_QUEUES", "2", "lets RCCL and compute overlap under FSDP"))
        channels = _min_channels(target)
        if channels is not None and gpus == 8 and fully_linked(links, gpus):
            wanted.append(Variable("NCCL_MIN_NCHANNELS", str(channels), "AMD's value for eight MI300X linked by XGMI"))
        if gpus > 1 and links and not any(link.kind == "xgmi" for link in links):
            wanted.append(Variable("HSA_FORCE_FINE_GRAIN_PCIE", "1", "peer access over PCIe needs fine-grained memory"))
    if vendor in ("amd", "nvidia"):
        wanted.append(
            Variable(
                "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", "a collective that times out ends the rank, not hangs it", False
            )
        )
    return tuple(wanted)


def _min_channels(target_name: str) -> int | None:
    try:
        return find_target(target_name).rccl_min_channels
    except UnknownTargetError:
        return None


def missing_variables(wanted: tuple[Variable, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """Those the environment does not have yet: what a person set stays."""
    return {item.name: item.value for item in wanted if item.name not in environment}


def _first_that_tells(probe: Probe) -> Node | None:
    for command, parse in (
        (("amd-smi", "topology", "--json"), parse_amd_smi),
        (("rocm-smi", "--showtopo"), parse_rocm_smi),
    ):
        answer = probe.run(command, _SMI_TIMEOUT_S)
        node = parse(answer.stdout) if answer.outcome == "ran" else None
        if node is not None:
            return node
    return None


def _nvidia(probe: Probe) -> Node:
    matrix = probe.run(("nvidia-smi", "topo", "-m"), _SMI_TIMEOUT_S)
    node = parse_nvidia_smi(matrix.stdout) if matrix.succeeded else None
    if node is None or node.gpus < 2:
        return node or Node()
    peers = probe.run(("nvidia-smi", "topo", "-p2p", "r"), _SMI_TIMEOUT_S)
    return parse_nvidia_smi(matrix.stdout, peers.stdout if peers.succeeded else "") or node


def _from_driver(probe: Probe) -> Node | None:
    nodes = sorted((name for name in probe.list_dir(KFD_NODES) if name.isdigit()), key=int)
    gpus = [node for node in nodes if int(_fields(probe, f"{KFD_NODES}/{node}/properties").get("simd_count", "0"))]
    index = {node: number for number, node in enumerate(gpus)}
    found: dict[tuple[int, int], str] = {}
    for node in gpus:
        for folder in ("io_links", "p2p_links"):
            base = f"{KFD_NODES}/{node}/{folder}"
            for entry in probe.list_dir(base):
                link = _fields(probe, f"{base}/{entry}/properties")
                other, kind = index.get(link.get("node_to", "")), _KFD_LINKS.get(link.get("type", ""))
                if other is not None and kind is not None and other != index[node]:
                    pair = (min(index[node], other), max(index[node], other))
                    if found.get(pair) != "xgmi":
                        found[pair] = kind
    if not found:
        return None
    return Node(len(gpus), tuple(Link(*pair, kind) for pair, kind in sorted(found.items())), (), "driver")


def _numa_by_address(node: Node, probe: Probe) -> tuple[int | None, ...]:
    """amd-smi gives bus addresses, and the kernel says on which NUMA node each lies."""
    if not node.addresses:
        return node.numa_nodes
    texts = [(probe.read_text(f"{PCI_DEVICES}/{address}/numa_node") or "").strip() for address in node.addresses]
    return tuple(int(text) if text.isdigit() else None for text in texts)


def _fields(probe: Probe, path: str) -> dict[str, str]:
    lines = (probe.read_text(path) or "").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(" ") for line in lines)}
