"""A version asked for while the program runs, read as CUDA's

What: cudaRuntimeGetVersion, cudaDriverGetVersion, cufftGetVersion and their like, where the number is then compared,
    divided or looked up as CUDA writes it (12020 for 12.2).
Why: HIP's functions give HIP's own number, 70200000 and more for HIP 7.2: `version < 11000` is never true, and
    `version / 1000` is 70200. The call compiles, so nothing else says so.
Fix: Find out what the program wants to know. If it asks whether a feature is there, test for the feature. If it shows
    the version, decode HIP's number (it is major * 10000000 + minor * 100000 + patch). Tests of macros such as
    CUDART_VERSION are KP222's.
Source: hip/hip_version.h and hip/hip_runtime_api.h of ROCm 7.2; https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART____VERSION.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

# Each with the library whose number it gives on AMD.
_ASKED = {
    b"cudaRuntimeGetVersion": "HIP",
    b"cudaDriverGetVersion": "HIP",
    b"cuDriverGetVersion": "HIP",
    b"cufftGetVersion": "hipFFT",
    b"curandGetVersion": "hipRAND",
    b"cusparseGetVersion": "hipSPARSE",
}
RULE = Rule(
    "KP218",
    "version-at-run-time",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=tuple(sorted(_ASKED)),
)
_VARIABLE = re.compile(rb"&\s*(?:\w+\s*(?:\.|->)\s*)*(\w+)$")
_COMPARED = frozenset((b"<", b"<=", b">", b">=", b"==", b"!="))
_READS = _COMPARED | {b"/", b"%", b"-"}


def check(src: CxxFile) -> Iterator[Finding]:
    """The first place that reads such a number as CUDA's, for each variable it is written to."""
    seen: set[bytes] = set()
    for call in calls(src, *_ASKED):
        found = _VARIABLE.search(call.argument(src, len(call.arguments) - 1)) if call.arguments else None
        if found is None or found[1] in seen:
            continue
        place = _read_as_cudas(src, call, found[1])
        if place is not None:
            seen.add(found[1])
            library, name = _ASKED[call.name], found[1].decode("utf-8", "replace")
            message = f"{name} is {library}'s version here, not CUDA's: {_OF[library]}"
            yield RULE.finding(src, Span(src.code[place].start, src.code[place].end), message)


_OF = {
    "HIP": "70200000 and more for HIP 7.2, where CUDA 12.2 gives 12020",
    **dict.fromkeys(("hipFFT", "hipRAND", "hipSPARSE"), "its numbers have another form"),
}


def _read_as_cudas(src: CxxFile, call: Call, variable: bytes) -> int | None:
    """The token behind the call where the variable is compared, divided or reduced."""
    for index in words(src).get(variable, ()):
        if src.code[index].start < call.span.end:
            continue
        if text_at(src, index + 1) in _READS or text_at(src, _before(src, index)) in _COMPARED:
            return index
    return None


def _before(src: CxxFile, index: int) -> int:
    """The token before a variable with the objects it is a member of: `known->versions.driver`."""
    while text_at(src, index - 1) in (b".", b"->"):
        index -= 2
    return index - 1
