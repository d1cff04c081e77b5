"""What a person can do about an error that no repair answers."""

from __future__ import annotations

import re

from kernel_pytorch.port.repairs.complaint import Complaint

# By the compiler's words; the first row that fits is taken.
_ADVICE = (
    (
        re.compile(r"'(?:cutlass|cute)/[^']*' file not found"),
        "CUTLASS is NVIDIA's alone: Composable Kernel or Triton on ROCm, or leave the source out there",
    ),
    (
        re.compile(r"'mma\.h' file not found|'nvcuda'|\bwmma\b"),
        "rocWMMA has the same fragments; its tile sizes differ by GPU",
    ),
    (
        re.compile(r"'(?:cuda|cub/|cublas|cusparse|cusolver|cufft|curand)[^']*' file not found"),
        "the header that includes it is not ported: a library may have a switch for HIP, as Eigen has EIGEN_USE_HIP",
    ),
    (
        re.compile(r"' file not found"),
        "name its folder, check out the submodule, or leave the source out on ROCm",
    ),
    (
        re.compile(r"'__(?:cvta|ldmatrix|mma|cp_async|grid_constant)"),
        "an instruction of NVIDIA's GPUs: write the step in plain C++ for ROCm",
    ),
    (re.compile(r"\basm\b|constraint|inline assembly"), "PTX: write the step in plain C++ behind the gate"),
    (
        re.compile(r"unknown type name|undeclared"),
        "HIP, or torch's renaming, does not have the name: gate the line, or define the name on ROCm",
    ),
    (re.compile(r"is ambiguous"), "cast the arguments to one type on ROCm"),
    (re.compile(r"no matching function"), "cast the arguments to what a HIP overload takes"),
    (
        re.compile(r"reference to __host__ function"),
        "mark the function __host__ __device__, or write the step out on the device",
    ),
)


def advice(complaint: Complaint) -> str:
    """A short sentence, or nothing."""
    found = next((text for pattern, text in _ADVICE if pattern.search(complaint.text)), "")
    return f" ({found})" if found else ""
