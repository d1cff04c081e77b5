"""Tensor-core code: mma, wgmma and tcgen05 PTX

What: PTX that multiplies matrix tiles. nvcuda::wmma, the classes of <mma.h>, ports (KP235).
Why: AMD's matrix instructions (MFMA on CDNA, WMMA on RDNA3 and RDNA4) hold fragments in other lanes and registers, and
    CDNA's waves have 64 lanes. Nothing maps one to one.
Fix: mma.sync (f16, bf16, tf32, f64, 8-bit floats, integers of 8 and 4 bits, single bits) and movmatrix become calls of
    functions that kpt writes beside the file. Fragments stay in NVIDIA's lane layout, so code that indexes them is
    right as it is (docs/tensor-cores.md has the cost). Other forms (wmma, wgmma, tcgen05, mma.sp, block scales) are
    left to you: rocWMMA has the fragment classes, with one wave instead of 32 threads per fragment; Composable Kernel
    and hipBLASLt have whole GEMMs. If the file has a path without tensor cores, build that one first.
Source: NVIDIA, PTX ISA, "Warp level matrix multiply-accumulate instructions";
    https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html;
    https://rocm.docs.amd.com/projects/rocWMMA/en/latest/
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

RULE = Rule("KP231", "tensor-core", languages=("cuda",), safety=Safety.SAFE, triggers=(b"asm",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each PTX matrix instruction."""
    yield from findings_with_code(RULE, src, one_for_each_function=True, nearest=nearest_kernel)
