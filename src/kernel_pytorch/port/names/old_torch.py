"""Headers that torch had once, and what today's torch has in their place."""

from __future__ import annotations

import re

OLD_HEADER = re.compile(r"TH(?:C|CUNN)?/")
_HEADERS = {
    "THC/THCAtomics.cuh": ("ATen/cuda/Atomic.cuh",),
    "THC/THCDeviceUtils.cuh": ("ATen/cuda/DeviceUtils.cuh", "ATen/ceil_div.h"),
    "THC/THCNumerics.cuh": ("ATen/NumericUtils.h",),
}
_ANY_THC = (
    "ATen/cuda/CUDAContext.h",
    "ATen/cuda/CUDABlas.h",
    "ATen/cuda/Exceptions.h",
    "ATen/ceil_div.h",
    "c10/cuda/CUDACachingAllocator.h",
)


def todays_headers(old: str, newline: bytes) -> bytes:
    """What stands behind `#include ` in place of an old header's name."""
    return (newline + b"#include ").join(f"<{name}>".encode() for name in _HEADERS.get(old, _ANY_THC))
