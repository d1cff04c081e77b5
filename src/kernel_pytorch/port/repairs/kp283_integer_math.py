"""Math functions called with an integer

What: `sqrt(n)`, `ceil(n / 2)`, `log2(n)`, `abs(n)` of an integer or an unsigned number.
Why: C++ converts an integer argument to double. In HIP's device code two overloads fit equally well, or none does.
Fix: On ROCm kpt converts the argument to double, and writes abs as a comparison.
Source: https://eel.is/c++draft/cmath.syn; clang/lib/Headers/__clang_hip_math.h in llvm/llvm-project
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.repairs.calls import call_near
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP283",
    "integer-math",
    re.compile(
        r"call to '(abs|sqrt|rsqrt|ceil|floor|round|rint|trunc|log|log2|log10|log1p|exp|exp2|expm1|sin|cos|"
        r"tan|tanh|isnan|isinf|"
        r"isfinite|fabs|cbrt|erf)' is ambiguous"
    ),
)
_CHANGES = re.compile(rb"\+\+|--|(?<![=!<>])=(?!=)")  # an argument that must not be evaluated twice


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The argument of the call."""
    src = place.src
    name = place.found[1]
    call = call_near(src, (name.encode(),), place.offset)
    if call is None or len(call.arguments) != 1:
        return ()
    argument = call.argument(src, 0)
    if name == "abs":
        # Not std::abs of another type: for an unsigned number this is the number itself, as in CUDA.
        value = b"(" + argument + b")"
        text = b"(" + value + b" < 0 ? -" + value + b" : " + value + b")"
        return () if _CHANGES.search(argument) else (Edit(call.whole, text),)
    return (Edit(call.arguments[0], b"static_cast<double>(" + argument + b")"),)
