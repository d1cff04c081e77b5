"""What nvcc and its headers give without being asked, and HIP's do not."""

from __future__ import annotations

import re
from functools import lru_cache

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cuda.naming import Naming, newline_of
from kernel_pytorch.port.cuda.unit import Unit, includes_of
from kernel_pytorch.port.source import SourceFile

# cuda_runtime.h brings these in by way of crt/common_functions.h; hip_runtime.h does not, and declares a device memcpy
# of its own, so that a host call then finds only that one.
_BROUGHT_BY_CUDA = {
    "string.h": re.compile(
        rb"(?<![\w.:>])(?:mem(?:cpy|set|move|cmp|chr)|str(?:len|cmp|ncmp|cpy|ncpy|cat|ncat|chr|rchr|str|tok|dup|error))\s*\("
    ),
    "time.h": re.compile(
        rb"(?<![\w.:>])(?:time\s*\(\s*(?:NULL|0|nullptr)\s*\)|clock\s*\(\s*\)|struct\s+timespec|clock_gettime)"
    ),
}
_OTHER_SPELLING = {"string.h": "cstring", "time.h": "ctime"}
_HALF_BLAS = b"HIPBLAS_USE_HIP_HALF"


def implicit_headers(unit: Unit) -> tuple[str, ...]:
    """C headers the unit relies on CUDA's runtime header for."""
    return _implicit(unit)


@lru_cache(maxsize=4)
def _implicit(unit: Unit) -> tuple[str, ...]:
    return tuple(
        header for header, used in _BROUGHT_BY_CUDA.items() if any(used.search(file.data) for file in unit.files)
    )


def includes_header(src: SourceFile, header: str) -> bool:
    """Whether a file includes a C header itself, by either spelling."""
    names = {include.name for include in includes_of(src.data)}
    return header in names or _OTHER_SPELLING[header] in names


def half_blas(src: SourceFile, unit: Unit, naming: Naming) -> list[Edit]:
    """hipBLAS takes __half only where HIPBLAS_USE_HIP_HALF is defined before its header: elsewhere it is uint16_t."""
    if not any(b"cublasH" in file.data for file in unit.files) or _HALF_BLAS in src.data:
        return []
    newline = newline_of(src)
    for include, change in naming.headers:
        if change.path == "hipblas/hipblas.h":
            start = src.line_span(include.start)[0]
            return [Edit(Span(start, start), b"#define " + _HALF_BLAS + newline)]
    return []
