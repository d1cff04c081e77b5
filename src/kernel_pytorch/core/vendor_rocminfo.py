"""Reads the text of `rocminfo`.

Its shape: a banner with the driver's version, then one block per HSA agent, `Key:   value` indented by two, with
nested blocks (pools, instruction sets) indented further. The first `Name:` of a GPU agent is its target.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.core.devices import DeviceInfo, clean_target, wave_size_of


@dataclass(frozen=True)
class RocminfoReading:
    """What rocminfo told. `understood` is False where the text is not rocminfo's."""

    devices: tuple[DeviceInfo, ...] = ()
    driver_version: str = ""
    understood: bool = False


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_AGENT = re.compile(r"^\s*Agent\s+\d+\s*$", re.MULTILINE)
_DRIVER = re.compile(r"^ROCk module (?:version )?(\S+) is loaded", re.MULTILINE)


def parse_rocminfo(text: str) -> RocminfoReading:
    """The GPUs and the driver version in rocminfo's output."""
    text = _COLOUR.sub("", text)  # the banner is coloured even when it does not go to a terminal
    driver = _DRIVER.search(text)
    version = driver.group(1) if driver and driver.group(1)[0].isdigit() else ""
    if "HSA Agents" not in text and "HSA System Attributes" not in text:
        return RocminfoReading(driver_version=version)
    devices: list[DeviceInfo] = []
    for block in _AGENT.split(text)[1:]:
        device = _device(block, len(devices))
        if device is not None:
            devices.append(device)
    return RocminfoReading(tuple(devices), version, understood=True)


def _device(block: str, index: int) -> DeviceInfo | None:
    fields = _first_fields(block)
    target = clean_target(fields.get("Name", ""))
    if fields.get("Device Type") != "GPU" or not target:
        return None
    return DeviceInfo(
        index=index,
        vendor="amd",
        name=fields.get("Marketing Name") or target,
        target=target,
        compute_units=_number(fields.get("Compute Unit", "")),
        memory_bytes=_largest_pool_bytes(block),
        wave_size=_number(fields.get("Wavefront Size", "")) or wave_size_of(target),
        source="rocminfo",
    )


def _first_fields(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in block.splitlines():
        key, colon, value = line.strip().partition(":")
        if colon and key not in fields:
            fields[key] = value.strip().lstrip(":").strip()
    return fields


def _number(text: str) -> int:
    """`64(0x40)` and `304` both occur."""
    match = re.match(r"\s*(\d+)", text)
    return int(match.group(1)) if match else 0


def _largest_pool_bytes(block: str) -> int:
    # The global pools of a device all describe the same memory, each under other coherence flags.
    sizes = re.findall(r"Segment:\s+GLOBAL.*?Size:\s+(\d+)\(0x[0-9a-fA-F]+\)\s*KB", block, re.DOTALL)
    return max((int(size) * 1024 for size in sizes), default=0)
