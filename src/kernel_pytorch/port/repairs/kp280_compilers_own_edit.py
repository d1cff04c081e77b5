"""What clang asks for and nvcc does not

What: An error for which clang itself proposes the edit: a missing `typename` or `template` before a dependent name, a
    narrowing conversion inside braces.
Why: nvcc and gcc accept these or warn. clang follows the standard.
Fix: kpt makes clang's edit on ROCm. A narrowing conversion becomes a static_cast to the same type, so the value does
    not change.
Source: https://clang.llvm.org/docs/ClangCommandLineReference.html (-fdiagnostics-parseable-fixits);
    https://eel.is/c++draft/temp.res; https://eel.is/c++draft/dcl.init.list
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP280",
    "compilers-own-edit",
    re.compile(
        r"missing 'typename' prior to dependent|use 'template' keyword to treat|cannot be narrowed (?:from|to) type"
    ),
)
_ALLOWED = re.compile(r"typename |template |static_cast<[\w:<>, *&]+>\(|\)")


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The edits that clang proposes in this file, if all of them are of the kinds named above."""
    src = place.src
    proposed = [one for one in place.complaint.proposed if one.start.path == src.path == one.end.path]
    if not proposed or not all(_ALLOWED.fullmatch(one.text) for one in proposed):
        return ()
    return tuple(
        Edit(
            Span(src.offset(one.start.line, one.start.column), src.offset(one.end.line, one.end.column)),
            one.text.encode(),
        )
        for one in proposed
    )
