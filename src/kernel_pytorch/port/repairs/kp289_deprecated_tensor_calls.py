"""Calls of old torch on tensors

What: `AT_DISPATCH_FLOATING_TYPES(x.type(), ...)`, `x.data<float>()`.
Why: Today's torch dispatches on a ScalarType, and has `data_ptr`. The old forms were deprecated first and then removed.
Fix: kpt writes `x.scalar_type()` and `x.data_ptr<float>()` on ROCm.
Source: aten/src/ATen/Dispatch.h in pytorch/pytorch; aten/src/ATen/templates/TensorBody.h in pytorch/pytorch
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP289",
    "deprecated-tensor-calls",
    re.compile(
        r"DeprecatedTypeProperties|no member named 'data' in|'data' is (?:deprecated|unavailable)|"
        r"unexpected type name|no member named 'type'"
    ),
)
_DISPATCH = re.compile(rb"\bAT_DISPATCH_\w+\s*\(")
_FAR = 400  # bytes from a dispatch to its lambda


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The old calls on the line; of a dispatch, those in all of it."""
    src = place.src
    start, end = place.line
    dispatch = _DISPATCH.search(src.data, start, end)
    if dispatch is not None:
        stop = src.data.find(b"[&]", dispatch.end())
        end = max(end, stop if 0 <= stop < dispatch.end() + _FAR else end)
    found = []
    for index in words(src).get(b"type", ()):
        token = src.code[index]
        ends = [text_at(src, index + step) for step in (1, 2, 3)]
        is_argument = text_at(src, index - 1) in (b".", b"->") and ends[:2] == [b"(", b")"] and ends[2] in (b",", b")")
        if is_argument and dispatch is not None and dispatch.end() <= token.start < end:
            found.append(Edit(Span(token.start, token.end), b"scalar_type"))
    for index in words(src).get(b"data", ()):
        token = src.code[index]
        if text_at(src, index - 1) in (b".", b"->") and text_at(src, index + 1) == b"<" and start <= token.start < end:
            found.append(Edit(Span(token.start, token.end), b"data_ptr"))
    return tuple(found)
