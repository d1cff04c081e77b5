"""Names whose header nvcc includes by itself

What: `FLT_MAX`, `INT_MAX`, `uint32_t`, `std::numeric_limits`, `assert` and the like in a file that does not include
    their header, or names of rocBLAS beside hipBLAS's header alone. CUDA's runtime in a .cu file that includes nothing
    of CUDA and launches no kernel: torch's renaming adds HIP's header only where it sees a launch.
Why: nvcc reads cuda_runtime.h before every source, and with it a dozen of the C++ library's headers. clang reads fewer.
Fix: kpt includes the header on ROCm.
Source: https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html (nvcc includes cuda_runtime.h before every
    .cu source); clang's "use of undeclared identifier"
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.names.rename import newline_of
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

_HEADERS = {
    r"FLT_\w+|DBL_\w+|LDBL_\w+": "cfloat",
    r"U?(?:INT|LONG|LLONG|CHAR|SHRT)_(?:MAX|MIN)": "climits",
    r"u?int(?:8|16|32|64)_t|UINT(?:8|16|32|64)_MAX|INT(?:8|16|32|64)_(?:MAX|MIN)": "cstdint",
    r"numeric_limits": "limits",
    r"assert": "cassert",
    r"printf|fprintf|stderr|snprintf": "cstdio",
    r"exit|abort|EXIT_FAILURE|getenv": "cstdlib",
    r"memcpy|memset|memcmp|strcmp|strlen": "cstring",
    r"accumulate|iota": "numeric",
    r"cout|cerr|endl": "iostream",
    r"stringstream|ostringstream": "sstream",
    r"vector": "vector",
    r"string|to_string": "string",
    r"function": "functional",
    r"tuple|tie|make_tuple": "tuple",
    r"unordered_map": "unordered_map",
    r"map": "map",
    r"array": "array",
    r"M_PI|M_PI_2|M_SQRT1_2|M_LOG2E|M_E": "cmath",
    r"rocblas_\w+": "rocblas/rocblas.h",
    r"hipsparse\w+": "hipsparse/hipsparse.h",
    r"hipsolver\w+": "hipsolver/hipsolver.h",
    r"hiprand\w+": "hiprand/hiprand_kernel.h",
    r"ceil_div": "ATen/ceil_div.h",
    r"hip[A-Z]\w*|dim3": "hip/hip_runtime.h",
}
# A file that includes one of these has the runtime's names, so that a name it lacks is in no header.
_BRING_RUNTIME = re.compile(r"(?:cuda|cuda_runtime|cuda_runtime_api|hip/hip_runtime)\.h")
_TABLE = tuple((re.compile(names), header) for names, header in _HEADERS.items())
REPAIR = Repair(
    "KP292",
    "header-not-included",
    re.compile(
        r"(?:use of undeclared (?:identifier|library function)|unknown type name|"
        r"no (?:member|type|template) named) '(\w+)'(?: in namespace '(?:std|at)')?$"
    ),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """An include before the file's first, or at its top."""
    header = next((header for names, header in _TABLE if names.fullmatch(place.found[1])), None)
    src = place.src
    includes = includes_of(src.data)
    if header is None or any(include.name == header for include in includes):
        return ()
    if header == "hip/hip_runtime.h" and any(_BRING_RUNTIME.fullmatch(include.name) for include in includes):
        return ()
    at = src.line_span(includes[0].start)[0] if includes else 0
    return (Edit(Span(at, at), f"#include <{header}>".encode() + newline_of(src)),)
