"""HIP's names for the runtime API, made from the CUDA names that the source-level mode has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_NAME = re.compile(r"\bcuda[A-Z]\w*")
# HIP's name where it is not "hip" for "cuda".
_OTHERWISE = {
    "cudaDeviceProp": "hipDeviceProp_t",
    "cudaMemcpyKind": "hipMemcpyKind",
    "cudaMallocHost": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
    "cudaErrorMemoryAllocation": "hipErrorOutOfMemory",
    "cudaDeviceAttr": "hipDeviceAttribute_t",
    "cudaPointerAttributes": "hipPointerAttribute_t",
    "cudaHostAllocDefault": "hipHostMallocDefault",
    "cudaHostAllocPortable": "hipHostMallocPortable",
    "cudaHostAllocMapped": "hipHostMallocMapped",
    "cudaLaunchKernel": "hipLaunchKernel",
    "cudaFuncCache": "hipFuncCache_t",
    "cudaSharedMemConfig": "hipSharedMemConfig",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": "hipOccupancyMaxActiveBlocksPerMultiprocessor",
}
_MORE = {"hipLaunchCooperativeKernel": "cudaLaunchCooperativeKernel", "hipLaunchKernel": "cudaLaunchKernel"}


def hip_names(headers: Iterable[Path]) -> str:
    """A header that defines HIP's name for everything those headers have."""
    names = sorted({name for header in headers for name in _NAME.findall(header.read_text())})
    pairs = {_OTHERWISE.get(name, f"hip{_attribute(name)[4:]}"): name for name in names}
    pairs.update(_MORE)
    lines = [f"#define {hip} {cuda}" for hip, cuda in pairs.items()]
    return "\n".join(["#pragma once", *lines, ""])


def _attribute(name: str) -> str:
    return name.replace("cudaDevAttr", "cudaDeviceAttribute")
