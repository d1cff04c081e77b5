"""A member of a base class that depends on a template's parameter

What: `return decode(entry[0]);` in a member of `template <int k> struct List : Base<k>`, where Base<k> has `decode`.
Why: The C++ standard looks up the name before the base is known, as clang does. nvcc looks again later, in the base.
Fix: On ROCm kpt writes `this->decode(entry[0])`.
Source: https://clang.llvm.org/compatibility.html#dep_lookup_bases
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP225",
    "member-of-dependent-base",
    re.compile(r"explicit qualification required to use member '(\w+)' from dependent base class"),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The name by way of `this`."""
    own = place.complaint.spots[0]  # the others are where the member is declared, and who asks for the template
    is_use = (own.path, own.line) == (place.src.path, place.src.line_col(place.offset)[0])
    if not is_use or not place.src.data.startswith(place.found[1].encode(), place.offset):
        return ()
    return (Edit(Span(place.offset, place.offset), b"this->"),)
