"""Reads the JSON of `amd-smi static --asic --vram --driver --json` and of `rocm-smi --json`.

amd-smi's top level is a list up to ROCm 6.4 and an object with `gpu_data` later; both may be preceded by
Python's warnings. Values it cannot get are the string "N/A".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.core.devices import DeviceInfo, clean_target, wave_size_of
from kernel_pytorch.core.hardware import GIB, MIB


@dataclass(frozen=True)
class SmiReading:
    """What a management tool told. `understood` is False where the text is not its JSON."""

    devices: tuple[DeviceInfo, ...] = ()
    driver_version: str = ""
    understood: bool = False


def parse_amd_smi(text: str) -> SmiReading:
    """The GPUs and the driver version in `amd-smi static --json` output."""
    data = _json_in(text)
    rows = data.get("gpu_data") if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return SmiReading()
    devices = tuple(_amd_smi_device(row, i) for i, row in enumerate(rows) if isinstance(row.get("asic"), dict))
    versions = [str(_inside(row, "driver", "version") or "") for row in rows]
    driver = next((version for version in versions if re.match(r"\d", version)), "")
    return SmiReading(devices, driver, understood=len(devices) == len(rows))


def _amd_smi_device(row: dict[str, Any], position: int) -> DeviceInfo:
    target = clean_target(str(_inside(row, "asic", "target_graphics_version") or ""))
    index = row.get("gpu")
    return DeviceInfo(
        index=index if isinstance(index, int) else position,
        vendor="amd",
        name=_named(_inside(row, "asic", "market_name")) or target or "AMD GPU",
        target=target,
        compute_units=_integer(_inside(row, "asic", "num_compute_units")),
        memory_bytes=_sized(_inside(row, "vram", "size")),
        wave_size=wave_size_of(target),
        source="amd-smi",
    )


def parse_rocm_smi(text: str) -> SmiReading:
    """The GPUs and the driver version in `rocm-smi --showproductname --showmeminfo vram --json` output."""
    data = _json_in(text)
    if not isinstance(data, dict):
        return SmiReading()
    cards = {key: row for key, row in data.items() if re.fullmatch(r"card\d+", key) and isinstance(row, dict)}
    driver = str(_inside(data, "system", "Driver version") or "")
    devices = tuple(_rocm_smi_device(row, i) for i, (_, row) in enumerate(sorted(cards.items(), key=_card_number)))
    return SmiReading(devices, driver, understood=bool(cards) or "system" in data)


def _rocm_smi_device(row: dict[str, Any], index: int) -> DeviceInfo:
    lower = {key.lower(): value for key, value in row.items()}  # "Card series" became "Card Series"
    target = clean_target(str(lower.get("gfx version", "")))
    return DeviceInfo(
        index=index,
        vendor="amd",
        name=_named(lower.get("card series")) or _named(lower.get("device name")) or target or "AMD GPU",
        target=target,
        memory_bytes=_integer(lower.get("vram total memory (b)")),
        wave_size=wave_size_of(target),
        source="rocm-smi",
    )


def _card_number(item: tuple[str, Any]) -> int:
    return int(item[0].removeprefix("card"))


def _json_in(text: str) -> Any:
    """The first JSON document in the text, None if there is none."""
    for match in re.finditer(r"^[\[{]", text, re.MULTILINE):
        try:
            return json.JSONDecoder().raw_decode(text, match.start())[0]
        except ValueError:
            continue
    return None


def _inside(row: dict[str, Any], *keys: str) -> Any:
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _named(value: Any) -> str:
    text = str(value or "").strip()
    return "" if text in ("N/A", "Unknown") else text


def _integer(value: Any) -> int:
    match = re.match(r"\s*(\d+)", str(value))
    return int(match.group(1)) if match else 0


def _sized(value: Any) -> int:
    """`{"value": 196592, "unit": "MB"}` now, "196592 MB" earlier. Their MB is 2**20."""
    if isinstance(value, dict):
        value = f"{value.get('value')} {value.get('unit')}"
    match = re.match(r"\s*(\d+)\s*(MB|GB)\b", str(value))
    return int(match.group(1)) * (MIB if match.group(2) == "MB" else GIB) if match else 0
