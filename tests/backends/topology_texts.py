"""Nodes to look at: what amd-smi, rocm-smi and nvidia-smi print for them, in the forms their versions have had."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernel_pytorch.core.probe import CommandResult, Probe

H200 = (Path(__file__).parent / "recordings" / "nvidia_smi_topo_h200_1.txt").read_text(encoding="utf-8")

Kind = Callable[[int, int], str]


def all_xgmi(first: int, second: int) -> str:
    return "XGMI"


def all_pcie(first: int, second: int) -> str:
    return "PCIE"


def last_on_pcie(gpus: int) -> Kind:
    """The last GPU has lost its links."""
    return lambda first, second: "PCIE" if gpus - 1 in (first, second) else "XGMI"


def address(gpu: int) -> str:
    return f"0000:{16 * gpu + 12:02x}:00.0"


def numa_files(gpus: int) -> dict[str, str]:
    """What the kernel says of each GPU's place: half of them on each socket."""
    return {
        f"/sys/bus/pci/devices/{address(gpu).lower()}/numa_node": f"{int(gpu >= gpus / 2)}\n" for gpu in range(gpus)
    }


def amd_smi_json(gpus: int, kind: Kind, *, access: bool = True, wrapped: bool = False, noise: str = "") -> str:
    """`amd-smi topology --json` since ROCm 6.2; `wrapped` as later versions print it."""

    def cell(one: int, other: int) -> dict[str, object]:
        itself = one == other
        word = "SELF" if itself else kind(one, other)
        return {
            "gpu": other,
            "bdf": address(other),
            "weight": 0 if itself else 15 if word == "XGMI" else 40,
            "link_status": "ENABLED" if access or itself or word == "XGMI" else "DISABLED",
            "link_type": word,
            "num_hops": 0 if itself else 1 if word == "XGMI" else 2,
            "bandwidth": "N/A" if itself or word != "XGMI" else "50000-50000",
        }

    rows = [
        {"gpu": one, "bdf": address(one), "links": [cell(one, other) for other in range(gpus)]} for one in range(gpus)
    ]
    return noise + json.dumps({"topology": rows} if wrapped else rows, indent=4)


def amd_smi_old_json(gpus: int, kind: Kind) -> str:
    """The form before ROCm 6.2: one table per property."""
    rows = []
    for one in range(gpus):
        others = {f"gpu_{other}": "SELF" if other == one else kind(one, other) for other in range(gpus)}
        rows.append(
            {
                "gpu": one,
                "link_accessibility": {
                    key: "ENABLED" if word != "PCIE" else "DISABLED" for key, word in others.items()
                },
                "hops": {key: 0 if word == "SELF" else 1 if word == "XGMI" else 2 for key, word in others.items()},
                "link_type": others,
            }
        )
    return json.dumps(rows)


def rocm_smi_text(gpus: int, kind: Kind, *, access: str | None = None) -> str:
    """`rocm-smi --showtopo`."""

    def table(title: str, cell: Callable[[int, int], str]) -> str:
        head = "       " + "".join(f"GPU{gpu:<10}" for gpu in range(gpus))
        rows = [f"GPU{one}   " + "".join(f"{cell(one, two):<13}" for two in range(gpus)) for one in range(gpus)]
        return f"{f' {title} ':=^80}\n" + "\n".join([head, *rows]) + "\n\n"

    text = f"{' ROCm System Management Interface ':=^80}\n"
    text += table("Weight between two GPUs", lambda a, b: "0" if a == b else "15")
    text += table("Hops between two GPUs", lambda a, b: "0" if a == b else "1" if kind(a, b) == "XGMI" else "2")
    text += table("Link Type between two GPUs", lambda a, b: "0" if a == b else kind(a, b))
    text += f"{' Numa Nodes ':=^80}\n"
    for gpu in range(gpus):
        node = int(gpu >= gpus / 2)
        text += f"GPU[{gpu}]\t\t: (Topology) Numa Node: {node}\nGPU[{gpu}]\t\t: (Topology) Numa Affinity: {node}\n"
    if access is not None:
        text += table("Access between two GPUs", lambda a, b: "True" if a == b else access)
    return text + f"{' End of ROCm SMI Log ':=^80}\n"


def nvidia_matrix(words: Sequence[Sequence[str]], numa: Sequence[str]) -> str:
    """`nvidia-smi topo -m`; the words of one row for each GPU, X for itself."""
    names = "\t".join(f"GPU{gpu}" for gpu in range(len(words)))
    text = f"\x1b[4m\t{names}\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    for gpu, row in enumerate(words):
        cells = "\t".join(" X " if word == "X" else word for word in row)
        text += f"GPU{gpu}\t{cells}\tPXB\t0-31\t{numa[gpu]}\t\tN/A\n"
    nic = "\t".join("PXB" for _ in words)
    return text + f"NIC0\t{nic}\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing # NVLinks\n"


def nvidia_peers(words: Sequence[Sequence[str]]) -> str:
    """`nvidia-smi topo -p2p r`."""
    text = " \x1b[4m\t" + "\t".join(f"GPU{gpu}" for gpu in range(len(words))) + "\t\x1b[0m\n"
    text += "".join(f" GPU{gpu}\t" + "\t".join(row) + "\t\n" for gpu, row in enumerate(words))
    return text + "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n"


def with_answers(probe: Probe, answers: Mapping[tuple[str, ...], str | CommandResult]) -> Probe:
    """The same machine with answers to some commands, found by how the command begins."""
    inner = probe.run

    def run(argv: Sequence[str], timeout_s: float) -> CommandResult:
        for start, answer in answers.items():
            if tuple(argv[: len(start)]) == start:
                return CommandResult(tuple(argv), "ran", 0, answer) if isinstance(answer, str) else answer
        return inner(argv, timeout_s)

    return replace(probe, run=run)
