"""Cooperative groups that ROCm has late or not at all

What: reduce, scans, memcpy_async, labeled_partition, invoke_one, wait_prior and tiles of several warps
    (block_tile_memory, tiled_partition<128>) of cooperative groups.
Why: reduce came with about ROCm 7.13 and the scans with 7.14; others are missing. tiled_partition<32> is right as it
    is. tiled_partition<64> is one wave on CDNA and two on RDNA, where ROCm compiles it and computes on half of it.
Fix: For ROCm before the version that has them, kpt writes out reduce, the scans of a tile and labeled_partition with
    the group's own shuffles, where their header is included or they are called. Tiles of several waves are written out
    with a counter in shared memory: sync, shfl, any, all, reduce and scans. The rest is left to you.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/cooperative_groups.html;
    https://github.com/ROCm/HIPIFY/pull/2448; hip/amd_detail/amd_hip_cooperative_groups.h, ROCm 7.2
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP321",
    "cooperative-group-features",
    languages=("cuda",),
    safety=Safety.SAFE,
    triggers=(b"cooperative_groups", b"cg::"),
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Cooperative groups that ROCm has late or not at all."""
    yield from wave_findings(src, unit, RULE)
