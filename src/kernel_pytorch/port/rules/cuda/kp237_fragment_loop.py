"""A loop over fragments without #pragma unroll

What: In device code that multiplies matrix tiles (mma.sync, nvcuda::wmma), a loop between constants that indexes a
    local array by its variable and holds a product, a move of a tile or another loop, and has no `#pragma unroll`; or
    such a loop around another, whose `#pragma unroll` names no number.
Why: nvcc unrolls such loops by itself, and the array lies in registers. AMD's compiler stops at a smaller size. The
    array then lies in memory, and every product reads and writes it there. `#pragma unroll` alone has a limit as well,
    of 16384 instructions. With a number it has none.
Fix: On ROCm kpt writes `#pragma unroll` above the loop, with the number of turns where another loop is inside and the
    bound is a constant.
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
from kernel_pytorch.port.cxx.loops import Loop, counting_loops
from kernel_pytorch.port.cxx.source import CxxFile, read_once
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
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
        if region is None or src.data[line:start].strip() or is_in_directive(src, start):
            continue
        body = src.data[loop.body.start : loop.body.end]
        above = src.data[region.start : start]
        if (
            len(body) > _LONGEST
            or not _LARGE.search(body)
            or not _is_constant(loop.bound, unit)
            or not _indexes_local_array(loop.variable, body, above)
        ):
            continue
        before = src.data[:line].rstrip()
        written = before.rpartition(b"\n")[2].strip()
        if written == b"#endif":  # the pragma is chosen by vendor or version, by an earlier port or by hand
            written = before[before.rfind(b"#if") :].replace(b"\n", b" ")
        turns = _turns(src, loop, region.start) if re.search(rb"\bfor\b", body) else b""
        pragma = b"#pragma unroll (" + turns + b")" if turns else b"#pragma unroll"
        if written == b"#pragma unroll" and turns:
            end = len(before)
            edit = Edit(Span(end - len(written), end), pragma)
            message = "a large loop over fragments: AMD's compiler does not unroll it and keeps the array in memory"
        elif b"unroll" not in written.lower():
            edit = Edit(Span(start, start), pragma + b"\n" + src.data[line:start])
            message = "a loop over fragments: AMD's compiler may not unroll it, and then keeps the array in memory"
        else:
            continue
        yield RULE.finding(src, loop.head, message, [edit])


_STEP = re.compile(rb"=\s*0[uUlL]*\s*;[^;]*[^<]<[^=<][^;]*;\s*(?:\+\+\s*\w+|\w+\s*\+\+|\w+\s*\+=\s*(\d+))\s*\)\Z")


def _turns(src: CxxFile, loop: Loop, function: int) -> bytes:
    """How often a loop runs, as an expression, where that is surely a constant: clang refuses any other in a pragma."""
    step = _STEP.search(src.data[loop.head.start : loop.head.end])
    names = re.findall(rb"[A-Za-z_][\w:]*", loop.bound)
    head = src.data[:function].rpartition(b"template")[2]
    parameters = head if not re.search(rb"[;}]", head) else b""
    above = src.data[function : loop.head.start]
    if step is None or not all(
        name == b"sizeof"
        or re.search(rb"\bconstexpr\b[^;=(]*\b%s\s*=" % name, above)
        or re.search(rb"[<,]\s*(?:const\s+)?(?:unsigned\s+)?\w+\s+%s\s*[,>=]" % name, parameters)
        for name in names
    ):
        return b""
    bound = b" ".join(loop.bound.split())
    return b"((%s) + %d) / %s" % (bound, int(step[1]) - 1, step[1]) if step[1] else bound


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
    return any(name in _constexpr_names(file) for file in unit.files)


_CONSTEXPR = re.compile(rb"constexpr(?<!\wconstexpr)\s+(?:static\s+)?(?:const\s+)?[\w:]+(?:\s+\w+)?\s+(\w+)")


@read_once
def _constexpr_names(file: CxxFile) -> frozenset[bytes]:
    return frozenset(_CONSTEXPR.findall(file.data)) if file.holds(b"constexpr") else frozenset()


def _indexes_local_array(variable: bytes, body: bytes, above: bytes) -> bool:
    used = re.findall(rb"\b([A-Za-z_]\w*)(?:\s*\[[^\[\]]*\])*\s*\[[^\[\]]*\b%s\b[^\[\]]*\]" % variable, body)
    return any(
        re.search(rb"\b[\w>:]+[\s>]\s*(?:\w+\s*(?:\[[^\[\]]*\])+\s*,\s*)*%s\s*\[[^;=]*\]\s*(?:[;,=]|\{)" % name, above)
        for name in set(used)
    )
