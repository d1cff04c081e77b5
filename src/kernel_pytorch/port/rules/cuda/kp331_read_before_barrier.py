"""A read before a barrier, used after it

What: In device code, a value that is read from shared memory or through a pointer, then `__syncthreads()` or the
    `sync()` of a thread block, then a use of the value.
Why: LLVM up to 22 may move the read behind the barrier, into the branch or the loop that uses it. Other threads have
    passed the barrier by then and may have overwritten the place. The value is wrong, and only sometimes. Branches and
    loops on which all threads agree are affected; clang 22.1.8 does so for MI300X and RX 7900 XTX.
Fix: On ROCm kpt writes `kpt_reads_done(), ` before the barrier: an empty piece of assembly that may write memory, as
    far as the compiler knows, so that no read passes it. It adds no instruction.
Source: https://github.com/llvm/llvm-project/issues/181708; https://github.com/triton-lang/triton/pull/9624
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.device_code import DeviceRegion, device_region_at
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP331", "read-before-barrier", languages=("cuda",), safety=Safety.SAFE, triggers=(
    b"__syncthreads", b"this_thread_block", b"thread_block",
))  # fmt: skip

_MARK = b"kpt_reads_done(), "
# A name, or an element or a member of it, and what is assigned. Not `*p = x` and not `p->x = y`, which are writes.
_ASSIGNED = re.compile(
    rb"(?<![\w.>\])*])([A-Za-z_]\w*)((?:\s*\.\s*\w+|\s*\[[^\[\];]*(?:\[[^\[\];]*\][^\[\];]*)*\])*)\s*[-+*/|&^]?=(?!=)([^;]*)"
)
_ELEMENT = re.compile(rb"(?:(&\s*)|\b)([A-Za-z_]\w*)\s*\[|\)\s*(\[)")
_THROUGH = re.compile(rb"(?:^|[(,?:=])\s*\*\s*\(?\s*[A-Za-z_]")
_LOCAL_ARRAY = re.compile(rb"([\w>])\s+(\w+)\s*\[[^;{}=]*\]\s*[;=,{]")
_READ_ONLY = re.compile(rb"\bconst\s+[\w:<>]+\s*\*\s*(?:const\s+)?__restrict(?:__)?\s+(?:const\s+)?(\w+)")
_BRANCH = re.compile(rb"\b(?:if|for|while|do|switch|return)\b|\?|&&|\|\|")
_BLOCK = re.compile(rb"\b(?:auto|(?:\w+::)*thread_block)\s*(?:const\s*)?&?\s*(\w+)\s*=[^;]*this_thread_block\s*\(")
# What stands before a statement. After anything else, such as the `:` of a choice, a comma would say something else.
_STARTS = (b";", b"{", b"}", b")", b"else", b"do")


@dataclass(frozen=True)
class _Memory:
    """What a function's names are: arrays of a thread, variables of a block, and memory that no kernel writes."""

    local: frozenset[bytes]
    shared: frozenset[bytes]
    read_only: frozenset[bytes]

    def is_read_by(self, expression: bytes) -> bool:
        for taken, name, of_call in _ELEMENT.findall(expression):
            if of_call or (not taken and name not in self.local and name not in self.read_only):
                return True
        named = (name for name in self.shared if name in expression)
        if any(re.search(rb"(?<![&\w.]\s)(?<![&\w.])%s\b(?!\s*[\[(])" % name, expression) for name in named):
            return True
        return _THROUGH.search(expression) is not None


def check(src: CxxFile) -> Iterator[Finding]:
    """Each barrier with such a value."""
    before: dict[DeviceRegion, int] = {}
    memories: dict[DeviceRegion, _Memory] = {}
    for index in _barriers(src):
        start = src.code[index].start
        region = device_region_at(src, start)
        if region is None or is_in_directive(src, start):
            continue
        first = before.get(region, region.start)
        before[region] = start
        if region not in memories:
            memories[region] = _memory(src, region)
        name = _carried(src, region, memories[region], Span(first, start))
        if name is not None and not src.data[:start].rstrip().endswith(_MARK.strip()):
            end = src.code[index].end
            edits = [Edit(Span(start, start), _MARK)] if text_at(src, index - 1) in _STARTS else []
            message = f"{name.decode()} is read before this barrier: LLVM up to 22 may read it after the barrier"
            yield RULE.finding(src, Span(start, end), message, edits)


def _barriers(src: CxxFile) -> list[int]:
    """The first tokens of the statements that wait for all threads of a block."""
    found = [call.index for call in calls(src, b"__syncthreads")]
    if src.holds(b"this_thread_block"):
        blocks = set(_BLOCK.findall(src.data))
        found += [
            index - 2 for index in words(src).get(b"sync", ())
            if text_at(src, index - 1) == b"." and text_at(src, index - 2) in blocks and text_at(src, index + 1) == b"("
        ]  # fmt: skip
    return sorted(found)


def _carried(src: CxxFile, region: DeviceRegion, memory: _Memory, part: Span) -> bytes | None:
    """A name that takes a value from memory in a part of a function and is used after it."""
    data, barrier = src.data, part.end
    assigned = [
        (match[1], match[2], match[3], match.start()) for match in _ASSIGNED.finditer(data, part.start, barrier)
    ]
    if not assigned:
        return None
    loop = _loop_around(src, region, barrier)
    if loop is None and region.is_kernel and not _BRANCH.search(data, barrier, region.end):
        return None
    for name, element, value, at in assigned:
        if name in memory.shared or (b"[" in element and name not in memory.local) or not memory.is_read_by(value):
            continue
        if _is_used(data, name, barrier, region.end) or (loop and loop < at and _is_used(data, name, loop, at)):
            return name
    return None


def _is_used(data: bytes, name: bytes, start: int, end: int) -> bool:
    """Whether a name stands in a part of the text. A plain search answers for most, before a pattern is made."""
    if data.find(name, start, end) < 0:
        return False
    return re.compile(rb"\b%s\b" % name).search(data, start, end) is not None


def _loop_around(src: CxxFile, region: DeviceRegion, place: int) -> int | None:
    """Where the body of the outermost loop starts that holds a place."""
    known = words(src)
    for index in sorted((*known.get(b"for", ()), *known.get(b"while", ()), *known.get(b"do", ()))):
        token = src.code[index]
        if not region.start < token.start < place:
            continue
        head = closing(src, index + 1) if text_at(src, index + 1) == b"(" else index
        body = head + 1 if head is not None else index
        end = closing(src, body) if text_at(src, body) == b"{" else None
        if end is not None and src.code[end].start > place:
            return src.code[body].start
    return None


def _memory(src: CxxFile, region: DeviceRegion) -> _Memory:
    data = src.data
    shared: set[bytes] = set()
    for index in words(src).get(b"__shared__", ()):
        if device_region_at(src, src.code[index].start) not in (region, None):
            continue
        stop = data.find(b";", src.code[index].end)
        declared = re.sub(rb"\[[^;]*?\]|=.*", b"", data[src.code[index].end : stop], flags=re.DOTALL)
        shared.update(re.findall(rb"(\w+)\s*(?:,|\Z)", declared))
    body = data[region.start : region.end]
    local = {name for _, name in _LOCAL_ARRAY.findall(body)} - shared
    # The parameters stand between the last statement and the body.
    head = data[max(data.rfind(b";", 0, region.start), data.rfind(b"}", 0, region.start)) + 1 : region.start]
    return _Memory(frozenset(local), frozenset(shared), frozenset(_READ_ONLY.findall(head)))
