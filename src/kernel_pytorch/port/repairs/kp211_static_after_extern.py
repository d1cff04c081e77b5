"""A function that is declared without `static` and defined with it

What: A header declares `template <bool> cudaError_t f();`, and the source defines it with `static`.
Why: nvcc takes the first declaration's linkage. clang refuses the second: the function cannot be both.
Fix: On ROCm kpt drops `static` from the definition.
Source: https://eel.is/c++draft/dcl.stc (storage class specifiers of one entity agree)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP211",
    "static-after-extern",
    re.compile(r"static declaration of '(\w+)' follows non-static declaration"),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The `static` in front of the name, on its line."""
    src = place.src
    start, end = place.line
    found = [
        src.code[index] for index in words(src).get(b"static", ()) if start <= src.code[index].start < place.offset
    ]
    if not found or not src.data[place.offset : end].startswith(place.found[1].encode()):
        return ()
    last = found[-1]
    return (Edit(Span(last.start, last.end + (src.data[last.end : last.end + 1] == b" ")), b""),)
