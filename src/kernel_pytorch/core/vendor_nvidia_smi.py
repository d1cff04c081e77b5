"""Reads `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.hardware import MIB, find_gpu

QUERY = "index,name,compute_cap,memory.total,driver_version"
NVIDIA_WARP = 32


@dataclass(frozen=True)
class NvidiaSmiReading:
    """What nvidia-smi told. `understood` is False where the text is not the table we asked for."""

    devices: tuple[DeviceInfo, ...] = ()
    driver_version: str = ""
    understood: bool = False


def parse_nvidia_smi(text: str) -> NvidiaSmiReading:
    """The GPUs in nvidia-smi's answer to `QUERY`."""
    lines = [line for line in text.splitlines() if line.strip()]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    if not rows or not all(len(row) == 5 and row[0].isdigit() for row in rows):
        return NvidiaSmiReading()
    return NvidiaSmiReading(tuple(_device(row) for row in rows), rows[0][4], understood=True)


def _device(row: list[str]) -> DeviceInfo:
    index, name, capability, memory_mib, _ = row
    version = re.fullmatch(r"(\d+)\.(\d+)", capability)
    target = f"sm_{version.group(1)}{version.group(2)}" if version else ""
    memory = int(memory_mib) * MIB if memory_mib.isdigit() else 0
    match = find_gpu(target, memory_gib=memory / 2**30 or None, name=name) if target else None
    return DeviceInfo(
        index=int(index),
        vendor="nvidia",
        name=name,
        target=target,
        # nvidia-smi does not tell the number of SMs: the table does, where the product is certain.
        compute_units=match.gpu.compute_units if match and match.certain else 0,
        memory_bytes=memory,
        wave_size=NVIDIA_WARP,
        source="nvidia-smi",
    )
