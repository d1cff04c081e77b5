"""A loop over fragments without #pragma unroll

What: In device code that multiplies matrix tiles (mma.sync, nvcuda::wmma), a loop between constants that indexes a
    local array by its variable, and has no `#pragma unroll`.
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
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP237", "fragment-loop", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__global__", b"__device__"))

_HEAD = re.compile(rb"\s*(?:const\s+)?[\w:]+\s+(\w+)\s*=\s*[^;]*;\s*(\w+)\s*<=?\s*([^;]+);", re.DOTALL)
_BOUND = re.compile(rb"[\w\s/*+()%:.-]+")
_LONGEST = 4000  # characters of a loop's body


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such loop that stands at the beginning of a line."""
    if not any(unit.holds(word) for word in (b"mma.sync", b"mma_sync")):
        return
    for index in words(src).get(b"for", ()):
        start = src.code[index].start
        region = device_region_at(src, start)
        line, _ = src.line_span(start)
        if region is None or src.data[line:start].strip() or is_in_directive(src, start) or _is_decided(src, line):
            continue
        close = closing(src, index + 1) if text_at(src, index + 1) == b"(" else None
        head = _HEAD.match(src.data, src.code[index + 1].end, src.code[close].start) if close is not None else None
        if head is None or close is None or head[1] != head[2] or not _is_constant(head[3], unit):
            continue
        body = src.data[src.code[close].end : _end_of_body(src, close)]
        if len(body) <= _LONGEST and _indexes_local_array(head[1], body, src.data[region.start : start]):
            message = "a loop over fragments: AMD's compiler may leave it rolled, and the array in memory"
            edit = Edit(Span(start, start), b"#pragma unroll\n" + src.data[line:start])
            yield RULE.finding(src, Span(start, src.code[close].end), message, [edit])


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


def _end_of_body(src: CxxFile, close: int) -> int:
    """Where the statement ends that follows a loop's head."""
    at = close + 1
    while text_at(src, at) in (b"for", b"if"):  # loops without braces between
        inner = closing(src, at + 1)
        if inner is None:
            return src.code[close].end
        at = inner + 1
    if text_at(src, at) == b"{":
        end = closing(src, at)
        return src.code[end].end if end is not None else src.code[close].end
    while at < len(src.code) and text_at(src, at) != b";":
        at += 1
    return src.code[min(at, len(src.code) - 1)].end


def _indexes_local_array(variable: bytes, body: bytes, above: bytes) -> bool:
    used = re.findall(rb"\b([A-Za-z_]\w*)(?:\s*\[[^\[\]]*\])*\s*\[[^\[\]]*\b%s\b[^\[\]]*\]" % variable, body)
    return any(
        re.search(rb"\b[\w>:]+[\s>]\s*(?:\w+\s*(?:\[[^\[\]]*\])+\s*,\s*)*%s\s*\[[^;=]*\]\s*(?:[;,=]|\{)" % name, above)
        for name in set(used)
    )
