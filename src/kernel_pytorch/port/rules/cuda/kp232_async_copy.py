"""Asynchronous copies and warp-wide matrix loads: cp.async, TMA, ldmatrix, mbarrier, clusters

What: PTX that moves data to shared memory in the background, loads matrices in mma layout, or works on thread block
    clusters.
Why: AMD GPUs have no copy engine of that kind, no clusters and another fragment layout.
Fix: cp.async without bulk becomes a plain copy on the spot, or with `-DKPT_COPY_INTO_LDS` a load into LDS where the
    target and the addresses allow it, which the wait instructions wait for. A program that waits before it reads, as
    PTX demands, sees the same bytes; a plain copy loses the overlap. ldmatrix and stmatrix become calls of functions
    that kpt writes beside the file, in the same lane layout. TMA, mbarrier and cluster instructions are left to you;
    the message gives the nearest AMD form and the effort.
Source: NVIDIA, PTX ISA, "Data movement and conversion instructions: asynchronous copy";
    https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.names.nearest_kernel import nearest_kernel
from kernel_pytorch.port.ptx.report import findings_with_code
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP232", "async-copy", languages=("cuda",), safety=Safety.SAFE, triggers=(b"asm",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each asm statement with such an instruction."""
    yield from findings_with_code(RULE, src, one_for_each_function=True, nearest=nearest_kernel)
