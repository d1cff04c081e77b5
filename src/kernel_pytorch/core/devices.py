"""One GPU as some source reported it.

A module of its own because the readers of the vendor tools make these and platform detection chooses among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.core.hardware import UnknownTargetError, base_target, is_integrated, target


@dataclass(frozen=True)
class DeviceInfo:
    """One device. What the source did not say is 0 or empty; `source` names the source."""

    index: int
    vendor: str  # "amd" or "nvidia"
    name: str
    target: str  # "gfx942", "sm_90", or "" where the source does not tell
    compute_units: int = 0
    memory_bytes: int = 0
    wave_size: int = 0
    source: str = ""

    @property
    def is_integrated(self) -> bool:
        """Part of a processor: usually not the GPU one wants to compute on."""
        return is_integrated(self.target)


def wave_size_of(target_name: str) -> int:
    """The table's wave width of a target, 0 where the table does not know it."""
    try:
        return target(target_name).wave_size
    except UnknownTargetError:
        return 0


def clean_target(text: str) -> str:
    """`gfx942:sramecc+:xnack-` is gfx942; anything that names no target is empty."""
    name = base_target(text)
    return name if name.startswith(("gfx", "sm_")) else ""
