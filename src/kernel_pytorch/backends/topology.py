"""How the GPUs of one machine are connected, and what RCCL and NCCL should be told about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pytorch.core.probe import Probe
from kernel_pytorch.core.vendor_kfd import KFD_NODES

# Link types of the kernel's topology (HSA_IOLINKTYPE in the amdkfd headers).
_KFD_LINKS = {"2": "pcie", "11": "xgmi"}
_SMI_TIMEOUT_S = 10.0
_LINKED = ("xgmi", "nvlink")


@dataclass(frozen=True)
class Link:
    """The connection of two GPUs: "xgmi", "nvlink" or "pcie"."""

    first: int
    second: int
    kind: str


@dataclass(frozen=True)
class Variable:
    """An environment variable for the collective library, and why."""

    name: str
    value: str
    why: str


def gpu_links(vendor: str, probe: Probe) -> tuple[Link, ...]:
    """The links between the GPUs of this machine, as the driver or nvidia-smi tells; empty where neither does."""
    return _amd_links(probe) if vendor == "amd" else _nvidia_links(probe) if vendor == "nvidia" else ()


def fully_linked(links: tuple[Link, ...], gpus: int) -> bool:
    """Has every pair of `gpus` GPUs a direct XGMI or NVLink connection?"""
    pairs = {frozenset((link.first, link.second)) for link in links if link.kind in _LINKED}
    return gpus > 1 and len(pairs) >= gpus * (gpus - 1) // 2


def collective_variables(
    vendor: str, target: str, links: tuple[Link, ...], gpus: int, parallel: str | None
) -> tuple[Variable, ...]:
    """What to set before the first collective. Only what the vendor documents for this topology."""
    wanted = []
    if vendor == "amd":
        if parallel == "fsdp":
            wanted.append(Variable("GPU_MAX_HW_QUEUES", "2", "lets RCCL and compute overlap under FSDP"))
        if target == "gfx942" and gpus == 8 and fully_linked(links, gpus):
            wanted.append(Variable("NCCL_MIN_NCHANNELS", "112", "AMD's value for eight MI300X linked by XGMI"))
        if gpus > 1 and links and not any(link.kind == "xgmi" for link in links):
            wanted.append(Variable("HSA_FORCE_FINE_GRAIN_PCIE", "1", "peer access over PCIe needs fine-grained memory"))
    if vendor in ("amd", "nvidia"):
        wanted.append(
            Variable("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", "a collective that times out ends the rank, not hangs it")
        )
    return tuple(wanted)


def missing_variables(wanted: tuple[Variable, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """Those the environment does not have yet: what a person set stays."""
    return {item.name: item.value for item in wanted if item.name not in environment}


def _amd_links(probe: Probe) -> tuple[Link, ...]:
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
    return tuple(Link(*pair, kind) for pair, kind in sorted(found.items()))


def _nvidia_links(probe: Probe) -> tuple[Link, ...]:
    answer = probe.run(("nvidia-smi", "topo", "-m"), _SMI_TIMEOUT_S)
    if not answer.succeeded:
        return ()
    text = re.sub(r"\x1b\[[0-9;]*m", "", answer.stdout)  # the header line is underlined
    links = []
    for line in text.splitlines():
        words = line.split()
        if not words or not re.fullmatch(r"GPU\d+", words[0]) or "X" not in words:
            continue
        first = int(words[0][3:])
        for second, word in enumerate(words[1:]):
            if second > first and re.fullmatch(r"NV\d+|PIX|PXB|PHB|NODE|SYS", word) and f"GPU{second}" in text:
                links.append(Link(first, second, "nvlink" if word.startswith("NV") else "pcie"))
    return tuple(links)


def _fields(probe: Probe, path: str) -> dict[str, str]:
    lines = (probe.read_text(path) or "").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(" ") for line in lines)}
