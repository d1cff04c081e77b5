"""Shuffles of torch's 16-bit floats

What: `__shfl_down_sync(mask, v, offset)` and its relatives where `v` is at::Half or at::BFloat16.
Why: HIP's shuffles take built-in types; at::Half converts to several of them, so that the call is ambiguous.
Fix: On ROCm kpt sends the value as float, which holds every value of both types, and converts it back.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_warp_functions.h in ROCm/rocm-systems
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.repairs.calls import call_near
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

_NAMES = ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor")
_CALLS = (*_NAMES, *(f"{name}_sync" for name in _NAMES))
REPAIR = Repair(
    "KP285",
    "shuffle-of-half",
    re.compile(rf"(?:no matching function for call to|call to) '({'|'.join(_CALLS)})'"),
)
_SMALL = re.compile(rb"\b(?:Half|BFloat16|scalar_t)\b")


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The value of the call, there and back."""
    src = place.src
    # The message does not name the type. Others that convert to several built-in types are rare, and not 16 bits wide.
    if not _SMALL.search(src.data):
        return ()
    call = call_near(src, tuple(name.encode() for name in _CALLS), place.offset)
    if call is None:
        return ()
    at = 1 if src.data[call.name.start : call.name.end].endswith(b"_sync") else 0
    if len(call.arguments) <= at:
        return ()
    value, span = call.argument(src, at), call.arguments[at]
    head, tail = src.data[call.whole.start : span.start], src.data[span.end : call.whole.end]
    if b"float" in value or b"decltype" in value:
        return ()
    there = head + b"static_cast<float>(" + value + b")" + tail
    text = b"static_cast<std::decay_t<decltype(" + value + b")>>(" + there + b")"
    return (Edit(call.whole, text),)
