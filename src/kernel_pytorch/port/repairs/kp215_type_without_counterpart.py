"""A type that HIP has no counterpart for, where only its name is needed

What: A type of CUDA's without counterpart in HIP as a member, a parameter or a variable: `CUtensorMap* map;`.
Why: The compiler must know the name, whether or not anything is done with it.
Fix: kpt declares an opaque type of that name on ROCm. A call of one of CUDA's functions with it has a finding of its
    own.
Source: https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables (the types without a counterpart); clang's "unknown
    type name", https://clang.llvm.org/docs/DiagnosticsReference.html
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.names.rename import newline_of
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair("KP215", "type-without-counterpart", re.compile(r"unknown type name '(\w+)'"))


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """A declaration behind the last include at the file's top, or in its first line."""
    name = place.found[1]
    row = find_name(name.encode())
    if row is None or row.hip or row.kind != "type" or name.encode() in shims():
        return ()
    src = place.src
    guard = f"KPT_OPAQUE_{name}"
    if guard.encode() in src.data:
        return ()
    above = [include for include in includes_of(src.data) if include.end <= place.offset]
    at = src.line_span(above[-1].end)[1] if above else 0
    newline = newline_of(src)
    lines = (f"#ifndef {guard}", f"#define {guard}", f"typedef struct kpt_{name} *{name};", "#endif")
    return (Edit(Span(at, at), b"".join(line.encode() + newline for line in lines)),)
