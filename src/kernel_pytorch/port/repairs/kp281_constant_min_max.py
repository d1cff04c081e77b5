"""std::min and std::max where a constant is needed

What: `constexpr int n = std::min(A, B);` or a template argument made with min or max.
Why: torch's renaming turns `std::min(` into `::min(` in every file with kernels. HIP's own min is not constexpr.
Fix: kpt writes `(std::min)(` on ROCm. torch's renaming does not see it, and clang allows constexpr functions in device
    code.
Source: torch/utils/hipify/hipify_python.py in pytorch/pytorch (replace_math_functions);
    clang/lib/Headers/__clang_hip_math.h in llvm/llvm-project (min is not constexpr)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.repairs.calls import calls_of
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP281",
    "constant-min-max",
    re.compile(
        r"must be initialized by a constant expression|is not a constant expression|"
        r"no matching function for call to '(?:min|max)'"
    ),
)
_CALLED = re.compile(r"function '(?:min|max)|candidate")


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """Every std::min and std::max of the statement."""
    src = place.src
    if not any(_CALLED.search(note) for note in place.complaint.context):
        return ()
    start, _ = place.line
    end = src.data.find(b";", place.offset)
    found = calls_of(src, (b"min", b"max"), start, end if end >= 0 else len(src.data))
    spans = [(call, src.data[call.whole.start : call.name.end]) for call in found]
    return tuple(
        Edit(Span(call.whole.start, call.name.end), b"(" + name + b")")
        for call, name in spans
        if name.startswith(b"std::")
    )
