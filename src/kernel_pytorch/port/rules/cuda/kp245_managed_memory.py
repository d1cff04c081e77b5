"""Managed memory

What: cudaMallocManaged or __managed__. kpt reports it once per file.
Why: Without XNACK (HSA_XNACK=1 and a kernel that supports it) AMD does not migrate pages. The memory stays on the
    host, and every access crosses the bus. The program is right but slow, and integer atomicMin and atomicMax on such
    memory can be lost.
Fix: Use explicit copies, or hipMemPrefetchAsync, where it matters. kpt doctor reports the state of XNACK.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/memory_management/unified_memory.html;
    https://github.com/jeffdaily/moat/blob/main/FINDINGS.md (the lost atomics)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP245",
    "managed-memory",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"cudaMallocManaged", b"__managed__"),
)


def check(src: CxxFile) -> Iterator[Finding]:
    """The first use in a file, with how many there are."""
    known = words(src)
    uses = sorted((*known.get(b"cudaMallocManaged", ()), *known.get(b"__managed__", ())))
    if uses:
        token = src.code[uses[0]]
        count = f" ({len(uses)} uses in this file)" if len(uses) > 1 else ""
        message = f"managed memory does not migrate without XNACK: it is read over the bus{count}"
        yield RULE.finding(src, Span(token.start, token.end), message)
