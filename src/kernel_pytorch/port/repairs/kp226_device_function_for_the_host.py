"""A function marked for the device alone that host code calls

What: `RobustKernel kernel(delta);` in host code, where `__device__ RobustKernel(float)` is the class's constructor.
Why: If a template calls the function on the host, nvcc compiles it for the host. clang does not consider it there and
    finds no function to call.
Fix: On ROCm kpt marks the function for both sides.
Source: https://llvm.org/docs/CompileCudaWithLLVM.html (dialect differences: overloading based on __host__ and
    __device__)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.repairs.marks import marks_before, name_at
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP226",
    "device-function-for-the-host",
    re.compile(
        r"no matching (?:constructor for initialization of '(?:const )?(?:\w+::)*(?P<type>\w+)|"
        r"(?:member )?function for call to '(?P<function>\w+)'|"
        r"conversion for .* to '(?:const )?(?:\w+::)*(?P<to>\w+)(?:<[^']*)?'"
        r"(?: \(aka '(?:const )?(?:\w+::)*(?P<aka>\w+))?)"
    ),
)
_WHY = "call to __device__ function from __host__ function"


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """`__host__` for the candidate that a note points to."""
    if not any(_WHY in note for note in place.complaint.context):
        return ()
    found = place.found
    name = found["type"] or found["function"] or found["aka"] or found["to"]
    index = name_at(place.src, name.encode(), place.offset)
    marks = marks_before(place.src, index) if index is not None else {}
    if marks.keys() != {b"__device__"}:
        return ()
    start = place.src.code[marks[b"__device__"]].start
    return (Edit(Span(start, start), b"__host__ "),)
