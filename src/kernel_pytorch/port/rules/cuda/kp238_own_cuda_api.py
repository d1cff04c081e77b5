"""A header of the project that declares CUDA's API itself

What: A file that declares twelve or more types, enumerators or functions of CUDA's API: a copy of cuda.h, or a loader
    that asks libcuda for each function (cuew, nv-codec-headers, the dynlink headers of NVIDIA's samples).
Why: Names that the project declares itself are the project's own, so they stay as they are in the port. The file then
    describes NVIDIA's driver, which an AMD machine does not have. Beside HIP's own header some of the names exist
    twice.
Fix: Include <hip/hip_runtime.h> in place of the file in a ROCm build. HIP has the driver's functions under names of
    its own, in libamdhip64.so; hipew does for HIP what cuew does for CUDA.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_driver_api.html;
    https://projects.blender.org/blender/blender/src/branch/main/extern/hipew
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.names.table import find_name, own_names
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP238",
    "own-cuda-api",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"CUresult", b"CUdevice", b"cudaError_t", b"cublasStatus_t"),
)
_A_COPY = 12  # a wrapper or a stub declares a few
_KINDS = ("type", "enum", "function")


def check(src: CxxFile) -> Iterator[Finding]:
    """The first such declaration, with how many there are."""
    own = own_names(src)
    if len(own) < _A_COPY:
        return
    declared = {name for name in own if (row := find_name(name)) is not None and row.kind in _KINDS}
    if len(declared) < _A_COPY:
        return
    first = next(token for token in src.code if src.data[token.start : token.end] in declared)
    names = counted(len(declared), "name")
    message = f"declares {names} of CUDA's API itself: a ROCm build needs HIP's header in its place"
    yield RULE.finding(src, Span(first.start, first.end), message)
