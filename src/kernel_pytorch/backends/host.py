"""The CPU this process runs on: its name, its memory, and how much of that this process may have."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

MB = 1024 * 1024

_CGROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


@dataclass(frozen=True)
class HostMemory:
    """Bytes the machine, or the container this process is in, has and has left."""

    total_bytes: int
    available_bytes: int


def host_memory() -> HostMemory:
    """Total and available memory, within a container's limit where there is one."""
    total, available = _meminfo()
    for limit_file, used_file in _CGROUP_FILES:
        limit, used = _number(limit_file), _number(used_file)
        if limit is not None and used is not None and limit < total:
            total, available = limit, max(0, min(available, limit - used))
            break
    return HostMemory(total, available)


def cpu_name() -> str:
    """The processor's marketing name, or its architecture where the system does not tell."""
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cpu_count() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _meminfo() -> tuple[int, int]:
    fields = {}
    for line in _lines("/proc/meminfo"):
        key, _, value = line.partition(":")
        fields[key] = int(value.split()[0]) * 1024
    if "MemTotal" in fields:
        return fields["MemTotal"], fields.get("MemAvailable", fields.get("MemFree", 0))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # macOS has no figure for what is left
    return pages, pages


def _number(path: str) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
