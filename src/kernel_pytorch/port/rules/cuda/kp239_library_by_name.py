"""A CUDA library opened by its name

What: `dlopen` or `LoadLibrary` in a file that names a library of NVIDIA's: libcuda.so, libcudart.so, libcublas.so,
    libcudnn.so, libnvidia-ml.so, nvcuda.dll and the like.
Why: An AMD machine has no file of that name. The call fails at run time, and most programs then go on without a GPU.
Fix: Open the counterpart in a ROCm build (libamdhip64.so for libcuda and libcudart, libhipblas.so, libMIOpen.so,
    librccl.so, libamd_smi.so), and ask it for HIP's names: dlsym finds no name that starts with cuda.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_driver_api.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.names.library_files import COUNTERPARTS
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP239",
    "library-by-name",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"dlopen", b"LoadLibrary", b"LibraryOpen"),
)

_LIBRARY = re.compile(
    rb"\blib(" + "|".join(COUNTERPARTS).encode() + rb")\.(?:so|dylib)|\b(nvcuda|cudart\d+_\d+|nvml)\.dll\b"
)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each string with such a name."""
    for token in src.code:
        if token.kind != "string":
            continue
        found = _LIBRARY.search(src.data, token.start, token.end)
        if found is None:
            continue
        file = found.group().decode()
        other = COUNTERPARTS.get(found.group(1).decode()) if found.group(1) else None
        instead = f": open {other}, whose functions have HIP's names" if other else ""
        yield RULE.finding(src, Span(token.start, token.end), f"an AMD machine has no {file}{instead}")
