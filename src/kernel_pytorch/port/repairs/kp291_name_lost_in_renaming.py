"""Names that torch's renaming does not translate, or translates to a name that is not declared

What: A CUDA name that torch's own renaming does not know, or maps to a name of a header that is not included:
    CUBLAS_STATUS_SUCCESS becomes rocblas_status_success, beside hipBLAS's header.
Why: torch's table was made for torch's own sources.
Fix: kpt writes HIP's name from its own table on ROCm. torch's renaming leaves that one as it is.
Source: torch/utils/hipify/cuda_to_hip_mappings.py in pytorch/pytorch;
    https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.names.table import Use, names_used, own_names
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP291",
    "name-lost-in-renaming",
    re.compile(
        r"(?:use of undeclared (?:identifier|library function)|unknown type name|"
        r"no (?:member|type|template) named) '(\w+)'"
    ),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The name that was meant: the one at the place, else the only one of the line that HIP calls otherwise."""
    src = place.src
    start, end = place.line
    lost = place.found[1]
    own = own_names(src)  # what the project declares here has this name in all of its files
    uses = [
        use
        for use in names_used(src)[0]
        if start <= use.token.start < end
        and use.name.hip not in ("", lost, use.name.cuda)
        and _is_plain(use)
        and use.name.cuda.encode() not in own
    ]
    exact = [use for use in uses if use.token.start <= place.offset < use.token.end]
    chosen = exact or ([uses[0]] if len(uses) == 1 else [])
    return tuple(Edit(Span(use.token.start, use.token.end), use.name.hip.encode()) for use in chosen[:1])


def _is_plain(use: Use) -> bool:
    """Whether the name alone changes, not what it is called with."""
    return use.name.status not in ("signature", "none")
