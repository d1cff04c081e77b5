"""CUDA's headers and what takes their place."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.port.cxx.includes import Include
from kernel_pytorch.port.names.table import Name, header_rows

RUNTIME_HEADER = "hip/hip_runtime.h"
# Headers of HIP that use its types and do not include them: CUDA's include what they need.
RELY_ON_RUNTIME = frozenset({"hip/hip_gl_interop.h"})

# libcu++: KP234 says what becomes of it.
RULES_OWN = "KP234"

# Folders whose headers all go one way. An empty target: no counterpart; KP code and what it is.
_FOLDERS = (
    ("cub/", "hipcub/hipcub.hpp", "", ""),
    ("cutlass/", "", "KP233", "CUTLASS has no ROCm port"),
    ("cute/", "", "KP233", "CuTe has no ROCm port"),
    ("cuda/", "", RULES_OWN, ""),
    ("nv/target", "", RULES_OWN, ""),
    ("thrust/system/cuda/", "thrust/system/hip/", "", ""),
    ("nvtx3/", "", "KP210", "roctx has a C interface only"),
    ("cooperative_groups/", "", "KP201", "not among HIP's cooperative groups headers"),
)


@dataclass(frozen=True)
class HeaderChange:
    """What becomes of one #include: the new path, or why there is none. Nothing at all for a header that stays."""

    path: str | None = None
    code: str = ""
    message: str = ""


def header_change(include: Include) -> HeaderChange | None:
    """What to do about an #include that did not resolve inside the project; None to leave it."""
    if include.name.startswith("thrust/system/cuda/experimental/"):
        return None  # not in rocThrust: KP263 says so
    row = header_rows().get(include.name)
    if row is not None:
        return _by_row(include.name, row)
    for prefix, target, code, why in _FOLDERS:
        if include.name.startswith(prefix):
            if target.endswith("/"):
                return HeaderChange(target + include.name.removeprefix(prefix))
            if target:
                return HeaderChange(target)
            return HeaderChange(code=code, message=f"#include <{include.name}>: {why}")
    return None


def _by_row(name: str, row: Name) -> HeaderChange:
    if row.hip:
        return HeaderChange(row.hip)
    libraries = {"nvml", "cupti", "nvtx", "tensor", "shmem", "file", "npp", "jpeg", "rtc"}
    code = "KP210" if row.library in libraries else "KP201"
    return HeaderChange(code=code, message=f"#include <{name}> has no counterpart: {row.note}")
