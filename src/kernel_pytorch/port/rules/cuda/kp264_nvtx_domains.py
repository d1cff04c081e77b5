"""NVTX beyond marks and ranges

What: Event attributes, domains, wide-character forms and the C++ interface of NVTX. kpt reports them once per file.
Why: roctx has marks and ranges with plain text only. (kpt renames those.)
Fix: Write a plain roctxRangePush, or nothing on ROCm. NVTX never changes a result.
Source: projects/roctracer/inc/roctx.h in ROCm/rocm-systems
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP264", "nvtx-domains", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"nvtx",))

_KNOWN = frozenset({
    b"nvtxRangePush", b"nvtxRangePushA", b"nvtxRangePop", b"nvtxRangeStart", b"nvtxRangeStartA", b"nvtxRangeEnd",
    b"nvtxMark",
    b"nvtxMarkA", b"nvtxRangeId_t", b"nvtxInitialize",
    # Names of devices, streams and events: a no-op is written in their place.
    b"nvtxNameCudaDevice", b"nvtxNameCudaDeviceA", b"nvtxNameCudaStream", b"nvtxNameCudaStreamA",
    b"nvtxNameCudaEvent", b"nvtxNameCudaEventA",
})  # fmt: skip
_PREFIXES = (
    b"nvtxEvent",
    b"nvtxDomain",
    b"nvtxName",
    b"nvtxMark",
    b"nvtxRange",
    b"nvtxString",
    b"nvtxResource",
    b"nvtxColor",
    b"nvtxMessage",
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """The first such name of a file that the project does not define itself."""
    uses = [
        index
        for name, indexes in words(src).items()
        if (name.startswith(_PREFIXES) or name == b"nvtx3") and name not in _KNOWN and name not in unit.macros
        for index in indexes
    ]
    if uses:
        token = src.code[min(uses)]
        name = src.text(token).decode("utf-8", "replace")
        yield RULE.finding(
            src,
            Span(token.start, token.end),
            f"{name}: roctx has plain marks and ranges only ({counted(len(uses), 'use')} in this file)",
        )
