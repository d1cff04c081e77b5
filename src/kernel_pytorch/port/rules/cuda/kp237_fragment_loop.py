"""A loop over fragments without #pragma unroll

What: In device code that multiplies matrix tiles (mma.sync, nvcuda::wmma), a loop between constants that indexes a
    local array by its variable and holds a product, a move of a tile or another loop, and has no `#pragma unroll`.
Why: nvcc unrolls such loops by itself, and the array lies in registers. AMD's compiler stops at a smaller size. The
    array then lies in memory, and every product reads and writes it there.
Fix: On ROCm kpt writes `#pragma unroll` above the loop.
Source: https://clang.llvm.org/docs/LanguageExtensions.html#extensions-for-loop-hint-optimizations; LLVM,
    lib/Target/AMDGPU/AMDGPUTargetTransformInfo.cpp (amdgpu-unroll-threshold-private).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.loops import counting_loops
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP237", "fragment-loop", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__global__", b"__device__"))

_BOUND = re.compile(rb"[\w\s/*+()%:.-]+")
_LONGEST = 4000  # characters of a loop's body
# What makes a loop too large for the compiler's own limit: products, moves of tiles, loops inside.
_LARGE = re.compile(rb"\bfor\b|mma|matrix|\basm\b", re.IGNORECASE)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such loop that stands at the beginning of a line."""
    if not any(unit.holds(word) for word in (b"mma.sync", b"mma_sync")):
        return
    for loop in counting_loops(src):
        start = loop.head.start
        region = device_region_at(src, start)
        line, _ = src.line_span(start)
        if region is None or src.data[line:start].strip() or is_in_directive(src, start) or _is_decided(src, line):
            continue
        body = src.data[loop.body.start : loop.body.end]
        above = src.data[region.start : start]
        if (
            len(body) <= _LONGEST
            and _LARGE.search(body)
            and _is_constant(loop.bound, unit)
            and _indexes_local_array(loop.variable, body, above)
        ):
            message = "a loop over fragments: AMD's compiler may leave it rolled, and the array in memory"
            edit = Edit(Span(start, start), b"#pragma unroll\n" + src.data[line:start])
            yield RULE.finding(src, loop.head, message, [edit])


def _is_decided(src: CxxFile, line: int) -> bool:
    """Whether the line above says how the loop is unrolled."""
    return b"unroll" in src.data[:line].rstrip().rpartition(b"\n")[2].lower()


def _is_constant(bound: bytes, unit: Unit) -> bool:
    """Whether every name of an expression is written in capitals, a member of a type, or declared constexpr."""
    if not _BOUND.fullmatch(bound):
        return False
    names = re.findall(rb"(?:\w+(?:<[^<>]*>)?::)*[A-Za-z_]\w*", bound)
    return all(
        name == b"sizeof"
        or name.upper() == name
        or b"::" in name
        or name.endswith(b"num_elements")
        or _is_constexpr(name, unit)
        for name in names
    )


def _is_constexpr(name: bytes, unit: Unit) -> bool:
    declared = re.compile(
        rb"\b(?:constexpr\s+(?:static\s+)?(?:const\s+)?|(?:static|const)\s+constexpr\s+)[\w:]+(?:\s+\w+)?\s+%s\b" % name
    )
    return any(declared.search(text) for text in unit.texts)


def _indexes_local_array(variable: bytes, body: bytes, above: bytes) -> bool:
    used = re.findall(rb"\b([A-Za-z_]\w*)(?:\s*\[[^\[\]]*\])*\s*\[[^\[\]]*\b%s\b[^\[\]]*\]" % variable, body)
    return any(
        re.search(rb"\b[\w>:]+[\s>]\s*(?:\w+\s*(?:\[[^\[\]]*\])+\s*,\s*)*%s\s*\[[^;=]*\]\s*(?:[;,=]|\{)" % name, above)
        for name in set(used)
    )
