"""What the vendors' tools say about the links between GPUs: amd-smi, rocm-smi, nvidia-smi. Text in, links out."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

LINKED = ("xgmi", "nvlink")
_UNDERLINE = re.compile(r"\x1b\[[0-9;]*m")
_NVIDIA_WORD = re.compile(r"NV\d+|PIX|PXB|PHB|NODE|SYS")
_NVIDIA_ACCESS = {"OK": True, "CNS": False, "GNS": False, "TNS": False, "NS": False, "DR": False}


@dataclass(frozen=True)
class Link:
    """The connection of two GPUs: "xgmi", "nvlink" or "pcie".

    `peer_access`: may they read each other's memory; None where nobody tells. `detail` is the tool's own word for the
    way ("NV18", "SYS", "2 hops").
    """

    first: int
    second: int
    kind: str
    peer_access: bool | None = None
    detail: str = ""


@dataclass(frozen=True)
class Node:
    """The GPUs of one machine and what lies between them. `source` is who told; empty where nobody did."""

    gpus: int = 0
    links: tuple[Link, ...] = ()
    numa_nodes: tuple[int | None, ...] = ()
    source: str = ""
    addresses: tuple[str, ...] = ()


def parse_amd_smi(text: str) -> Node | None:
    """`amd-smi topology --json`, the form with "links" and the one before it; None if it is neither."""
    rows = _json_rows(text)
    if rows is None:
        return None
    links: dict[tuple[int, int], Link] = {}
    for place, row in enumerate(rows):
        for other, cell in _amd_smi_cells(row):
            kind = {"XGMI": "xgmi", "PCIE": "pcie"}.get(str(cell.get("link_type")))
            if kind is None or other == place:
                continue
            access = {"ENABLED": True, "DISABLED": False}.get(str(cell.get("link_status")))
            hops = cell.get("num_hops")
            pair = (min(place, other), max(place, other))
            before = links.get(pair)
            if before is not None and before.peer_access is False:
                access = False  # one way is not enough
            links[pair] = Link(*pair, kind, access, _hops(hops))
    addresses = tuple(str(row.get("bdf", "")).lower() for row in rows)
    return Node(len(rows), _sorted(links), (None,) * len(rows), "amd-smi", addresses)


def parse_rocm_smi(text: str) -> Node | None:
    """`rocm-smi --showtopo`; None if there is no table of link types in it."""
    kinds = _rocm_smi_table(text, "Link Type between two GPUs")
    if not kinds:
        return None
    access = _rocm_smi_table(text, "Access between two GPUs") or _rocm_smi_table(text, "accessible between two GPUs")
    hops = _rocm_smi_table(text, "Hops between two GPUs")
    numa = {int(gpu): int(node) for gpu, node in re.findall(r"GPU\[(\d+)\].*?Numa Node: (-?\d+)", text)}
    links = {}
    for (first, second), word in kinds.items():
        kind = {"XGMI": "xgmi", "PCIE": "pcie"}.get(word)
        if first < second and kind is not None:
            may = {"TRUE": True, "FALSE": False}.get(access.get((first, second), "").upper())
            links[(first, second)] = Link(first, second, kind, may, _hops(hops.get((first, second))))
    gpus = 1 + max(max(pair) for pair in kinds)
    return Node(gpus, _sorted(links), tuple(_numa(numa.get(gpu)) for gpu in range(gpus)), "rocm-smi")


def parse_nvidia_smi(matrix: str, peers: str = "") -> Node | None:
    """`nvidia-smi topo -m`, with `nvidia-smi topo -p2p r` for who may read whose memory; None if it is not that."""
    lines = [_UNDERLINE.sub("", line) for line in matrix.splitlines()]
    header = next((line.split("\t") for line in lines if re.search(r"(^|\s)GPU0(\s|$)", line)), None)
    if header is None:
        return None
    names = [cell.strip() for cell in header]
    columns = {int(name[3:]): place for place, name in enumerate(names) if re.fullmatch(r"GPU\d+", name)}
    numa_column = next((place for place, name in enumerate(names) if name == "NUMA Affinity"), None)
    access = _nvidia_peers(peers)
    links: dict[tuple[int, int], Link] = {}
    numa: dict[int, int | None] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        if not re.fullmatch(r"GPU\d+", cells[0]) or "X" not in cells:
            continue
        first = int(cells[0][3:])
        if numa_column is not None and numa_column < len(cells) and cells[numa_column].isdigit():
            numa[first] = int(cells[numa_column])
        for second, place in columns.items():
            word = cells[place] if place < len(cells) else ""
            if second > first and _NVIDIA_WORD.fullmatch(word):
                kind = "nvlink" if word.startswith("NV") else "pcie"
                links[(first, second)] = Link(first, second, kind, access.get((first, second)), word)
    numa_nodes = tuple(numa.get(gpu) for gpu in range(len(columns)))
    return Node(len(columns), _sorted(links), numa_nodes, "nvidia-smi")


def _nvidia_peers(text: str) -> dict[tuple[int, int], bool]:
    found = {}
    for line in text.splitlines():
        words = _UNDERLINE.sub("", line).split()
        if len(words) < 2 or not re.fullmatch(r"GPU\d+", words[0]) or "X" not in words[1:]:
            continue
        for second, word in enumerate(words[1:]):
            if word in _NVIDIA_ACCESS:
                found[(int(words[0][3:]), second)] = _NVIDIA_ACCESS[word]
    return found


def _json_rows(text: str) -> list[dict[str, Any]] | None:
    """The list of GPUs; Python's warnings may come before it, and newer versions wrap it in an object."""
    for start in (place for place, letter in enumerate(text) if letter in "[{"):
        try:
            data, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            continue
        rows = next((value for value in data.values() if isinstance(value, list)), None) if _is_dict(data) else data
        if (
            isinstance(rows, list)
            and rows
            and all(_is_dict(row) and ("links" in row or "link_type" in row) for row in rows)
        ):
            return rows
    return None


def _amd_smi_cells(row: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    if isinstance(row.get("links"), list):
        return [(place, cell) for place, cell in enumerate(row["links"]) if _is_dict(cell)]
    cells = []
    for key, kind in row["link_type"].items() if _is_dict(row["link_type"]) else ():
        status = row.get("link_accessibility", {}).get(key)
        cell = {"link_type": kind, "link_status": status, "num_hops": row.get("hops", {}).get(key)}
        cells.append((int(re.sub(r"\D", "", key) or -1), cell))
    return cells


def _rocm_smi_table(text: str, title: str) -> dict[tuple[int, int], str]:
    """The matrix below a title, by pairs of GPUs."""
    after = re.split(rf"^=+\s*.*{re.escape(title)}.*=+\s*$", text, maxsplit=1, flags=re.MULTILINE | re.IGNORECASE)
    if len(after) < 2:
        return {}
    table = {}
    columns: list[int] = []
    for line in after[1].splitlines():
        words = line.split()
        if line.startswith("=") or (columns and not words):
            break
        if words and all(re.fullmatch(r"GPU\d+", word) for word in words) and not columns:
            columns = [int(word[3:]) for word in words]
        elif words and re.fullmatch(r"GPU\d+", words[0]):
            table.update({(int(words[0][3:]), column): word for column, word in zip(columns, words[1:], strict=False)})
    return table


def _sorted(links: dict[tuple[int, int], Link]) -> tuple[Link, ...]:
    return tuple(link for _, link in sorted(links.items()))


def _hops(value: Any) -> str:
    text = str(value) if value is not None else ""
    return f"{text} hop{'s' * (text != '1')}" if text.isdigit() else ""


def _numa(node: int | None) -> int | None:
    return node if node is not None and node >= 0 else None


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)
