"""Asks every vendor tool at once and says, for each, whether it is there, works, and what it saw."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.probe import Probe
from kernel_pytorch.core.vendor_amd_smi import parse_amd_smi, parse_rocm_smi
from kernel_pytorch.core.vendor_nvidia_smi import QUERY, parse_nvidia_smi
from kernel_pytorch.core.vendor_rocminfo import parse_rocminfo

TIMEOUT_S = 5.0  # a healthy tool answers within a second or two, also on eight GPUs


@dataclass(frozen=True)
class ToolReading:
    """One vendor tool's answer. `outcome`: "ok", "missing", "hangs", "failed" or "garbage" (not understood)."""

    tool: str
    outcome: str
    detail: str = ""
    devices: tuple[DeviceInfo, ...] = ()
    driver_version: str = ""


@dataclass(frozen=True)
class _Tool:
    name: str
    vendor: str
    argv: tuple[str, ...]
    parse: Callable[[str], Any]


TOOLS = (
    _Tool("rocminfo", "amd", ("rocminfo",), parse_rocminfo),
    _Tool("amd-smi", "amd", ("amd-smi", "static", "--asic", "--vram", "--driver", "--json"), parse_amd_smi),
    _Tool(
        "rocm-smi",
        "amd",
        ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json"),
        parse_rocm_smi,
    ),
    _Tool(
        "nvidia-smi",
        "nvidia",
        ("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"),
        parse_nvidia_smi,
    ),
)


def read_tools(probe: Probe, timeout_s: float = TIMEOUT_S) -> dict[str, ToolReading]:
    """Every tool's reading by name. They run side by side, so one that hangs costs its timeout once."""
    with ThreadPoolExecutor(max_workers=len(TOOLS)) as pool:
        readings = pool.map(lambda tool: _read(probe, tool, timeout_s), TOOLS)
        return {tool.name: reading for tool, reading in zip(TOOLS, readings, strict=True)}


def tool_names(vendor: str) -> tuple[str, ...]:
    """The tools of one vendor, best source first."""
    return tuple(tool.name for tool in TOOLS if tool.vendor == vendor)


def _read(probe: Probe, tool: _Tool, timeout_s: float) -> ToolReading:
    result = probe.run(tool.argv, timeout_s)
    if result.outcome == "hangs":
        return ToolReading(tool.name, "hangs", f"no answer within {timeout_s:g} s")
    if result.outcome != "ran":
        return ToolReading(tool.name, result.outcome, result.stderr)
    reading = tool.parse(result.stdout)
    if result.returncode != 0 and not reading.devices:
        return ToolReading(tool.name, "failed", _last_words(result.stdout, result.stderr, result.returncode))
    if not reading.understood:
        return ToolReading(tool.name, "garbage", _last_words(result.stdout, result.stderr, result.returncode))
    return ToolReading(tool.name, "ok", "", reading.devices, reading.driver_version)


def _last_words(stdout: str, stderr: str, returncode: int) -> str:
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in (stderr + "\n" + stdout).splitlines()]
    message = next((line for line in lines if line), "said nothing")
    return f"exit {returncode}: {message[:160]}"
