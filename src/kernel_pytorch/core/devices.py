"""One GPU as some source reported it.

A module of its own because the readers of the vendor tools make these and platform detection chooses among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.core.hardware import UnknownTargetError, base_target, target

# Targets that exist only inside a processor (LLVM's AMDGPU usage guide lists them as APU). MI300A is an APU too,
# but shares gfx942 with MI300X and is nobody's display adapter.
INTEGRATED_TARGETS = frozenset(
    {
        "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037",
        "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
    }
)  # fmt: skip


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
        return self.target in INTEGRATED_TARGETS


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
