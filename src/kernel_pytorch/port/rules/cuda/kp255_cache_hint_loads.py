"""Loads with a cache hint: __ldcg, __ldca, __ldcs

What: calls of __ldcg, __ldca and __ldcs.
Why: HIP has them for half types only; for float, int and vectors they do not compile.
Fix: a plain load on ROCm. The hint changes no value; __builtin_nontemporal_load is AMD's nearest for streaming scalars.
Source: rules catalogue row 57; amd_hip_fp16.h and hip_ldg.h of HIP 7.2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

_LOADS = (b"__ldcg", b"__ldca", b"__ldcs")

RULE = Rule("KP255", "cache-hint-loads", languages=("cuda",), safety=Safety.SAFE, triggers=_LOADS)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each call that the project does not define itself."""
    for call in calls(src, *_LOADS):
        if len(call.arguments) != 1 or call.name in unit.macros:
            continue
        head = Edit(Span(call.span.start, call.arguments[0].start), b"(*(")
        tail = Edit(Span(call.arguments[0].end, call.span.end), b"))")
        message = f"{call.name.decode('utf-8', 'replace')} exists in HIP for half types only"
        yield RULE.finding(src, call.span, message, [head, tail])
