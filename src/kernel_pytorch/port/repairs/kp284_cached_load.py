"""Loads through the read-only cache of types HIP has no overload for

What: `__ldg(p)` and its relatives (`__ldcs`, `__ldca`, `__ldcg`) of a pointer to at::Half or to a struct.
Why: HIP has these functions for the built-in types. On AMD they are plain loads.
Fix: kpt writes `*(p)` on ROCm, which reads the same value.
Source: hipamd/include/hip/amd_detail/hip_ldg.h in ROCm/clr
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.repairs.calls import call_near
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP284",
    "cached-load",
    re.compile(
        r"(?:no matching function for call to|call to|use of undeclared (?:identifier|library function)) "
        r"'(__ld(?:g|cs|ca|cg|lu|cv))'"
    ),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The call as a plain load."""
    call = call_near(place.src, (place.found[1].encode(),), place.offset)
    if call is None or len(call.arguments) != 1:
        return ()
    return (Edit(call.whole, b"(*(" + call.argument(place.src, 0) + b"))"),)
