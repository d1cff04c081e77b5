"""The layouts that keep the original: a changed line stands beside the old one, behind a gate.

With the gate's macros undefined a preprocessor sees the original lines. A changed `#if` cannot stand behind a gate of
its own: it asks both questions in one condition, the new one on ROCm and the old one elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.layouts.layout import LaidOut
from kernel_pytorch.port.names.rename import newline_of

ON_ROCM = b"defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)"
NOT_ROCM = b"!defined(USE_ROCM) && !defined(__HIP_PLATFORM_AMD__)"
GATE = b"#if " + ON_ROCM

_IMPLIES_ROCM = re.compile(rb"defined\((?:__HIPCC__|__HIP_DEVICE_COMPILE__|__HIPCC_RTC__|__HIP_PLATFORM_AMD__)\)")
_NVIDIA_ONLY = rb"(?:defined\s*\(?\s*__(?:CUDACC|NVCC|CUDACC_RTC|CUDA_ARCH)__\s*\)?|__CUDA_ARCH__\s*>=?\s*[1-9]\d*)"
# With a version that is 0 on AMD the rest may hold there, where torch renames __CUDACC__.
_FALSE_ON_ROCM = re.compile(_NVIDIA_ONLY + rb"(?:\s*&&(?![^|]*_VER)[^|]*)?")

_NO_CONDITION = re.compile(rb'[;{}"]')  # a statement that broken code has on the line of an #if
_NEVER_NVIDIA = re.compile(rb"!\s*" + _IMPLIES_ROCM.pattern)
_NEVER_ROCM = re.compile(rb"!\s*defined\s*\(?\s*__(?:CUDACC|NVCC|CUDACC_RTC|CUDA_ARCH)__\s*\)?")

_CONDITION = re.compile(
    rb"([ \t]*#[ \t]*)(if|elif|ifdef|ifndef|elifdef|elifndef)\b[ \t]*((?:[^\n\\]|\\\r?\n|\\)*?)(\r?\n?)\Z"
)
_CONDITIONAL = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b", re.MULTILINE)


@dataclass(frozen=True)
class GatedLines:
    """Whole logical lines and the edits that fall into them."""

    start: int
    end: int
    edits: tuple[tuple[int, int, bytes], ...]


def behind_gates(src: CxxFile, edits: EditSet) -> LaidOut:
    """The file with every group of edited lines as `#if ROCm / new / #else / old / #endif`."""
    items = list(edits)
    if not items:
        return LaidOut(src.data)
    parts: list[bytes] = []
    dropped: list[int] = []
    position = 0
    newline = newline_of(src)
    for lines in _gated_lines(src, items):
        old = src.data[lines.start : lines.end]
        new = _changed(src.data, lines)
        text = _both_questions(old, new, newline) if _CONDITION.match(old) else _gated(old, new, newline)
        if text is None:
            dropped.append(lines.edits[0][0])
            continue
        parts.append(src.data[position : lines.start])
        parts.append(text)
        position = lines.end
    parts.append(src.data[position:])
    return LaidOut(b"".join(parts), tuple(dropped))


def _gated(old: bytes, new: bytes, newline: bytes) -> bytes | None:
    if not old:
        return GATE + newline + new + b"#endif" + newline
    if not _is_balanced(old) or not _is_balanced(new):
        return None
    if new and not new.endswith(b"\n"):
        new += newline
    # A last line without a newline gets one inside the gate: #endif has to start a line.
    closing = old if old.endswith(b"\n") or not old else old + newline
    return GATE + newline + new + b"#else" + newline + closing + b"#endif" + newline


def _is_balanced(text: bytes) -> bool:
    depth = 0
    for match in _CONDITIONAL.finditer(text):
        word = match.group(1)
        if word in (b"if", b"ifdef", b"ifndef"):
            depth += 1
        elif depth == 0:
            return False
        elif word == b"endif":
            depth -= 1
    return depth == 0


def _both_questions(old: bytes, new: bytes, newline: bytes) -> bytes | None:
    """`#if O` that becomes `#if N` on ROCm: one line that is O where the ROCm macros are undefined."""
    before, after = _CONDITION.match(old), _CONDITION.match(new)
    if before is None or after is None:
        return None
    head = b"elif" if before.group(2).startswith(b"el") else b"if"
    elsewhere, rocm = _as_expression(before), _as_expression(after)
    if NOT_ROCM in elsewhere:  # it asks both questions already
        return old
    if b"?" in elsewhere or _NO_CONDITION.search(elsewhere + rocm):
        return None
    if _NEVER_NVIDIA.fullmatch(rocm) and _NEVER_ROCM.fullmatch(elsewhere):
        # Each is a matter of course on the other side: `!defined(__NVCC__) && !defined(__HIPCC__)`.
        return before.group(1) + head + b" " + elsewhere + b" && " + rocm + (before.group(4) or newline)
    question = rocm if _IMPLIES_ROCM.fullmatch(rocm) else b"(" + ON_ROCM + b") && (" + rocm + b")"
    if not _FALSE_ON_ROCM.fullmatch(elsewhere):
        # Part by part, so that what is left with the macros undefined is the old condition as it was written.
        elsewhere = b" || ".join(NOT_ROCM + b" && " + part.strip() for part in _alternatives(elsewhere))
    ending = before.group(4) or newline
    return before.group(1) + head + b" " + question + b" || " + elsewhere + ending


def _alternatives(condition: bytes) -> list[bytes]:
    """The parts of a condition between `||` that no bracket encloses."""
    parts = [b""]
    depth = 0
    for piece in re.split(rb"(\|\||[()])", condition):
        depth += (piece == b"(") - (piece == b")")
        if piece == b"||" and depth == 0:
            parts.append(b"")
        else:
            parts[-1] += piece
    return parts


def _as_expression(match: re.Match[bytes]) -> bytes:
    word = match.group(2)
    # A trailing comment would swallow what follows it on the new line.
    condition = re.sub(rb"\\\r?\n", b" ", re.sub(rb"//.*|/\*.*?\*/", b"", match.group(3))).strip()
    if word in (b"ifdef", b"elifdef"):
        return b"defined(" + condition + b")"
    if word in (b"ifndef", b"elifndef"):
        return b"!defined(" + condition + b")"
    return condition


def _changed(data: bytes, lines: GatedLines) -> bytes:
    parts: list[bytes] = []
    position = lines.start
    for first, last, text in lines.edits:
        parts.append(data[position:first])
        parts.append(text)
        position = last
    parts.append(data[position : lines.end])
    return b"".join(parts)


def _gated_lines(src: CxxFile, items: list[tuple[int, int, bytes]]) -> list[GatedLines]:
    """Whole logical lines around each edit, merged where they meet: neighbouring lines stand behind one gate."""
    result: list[GatedLines] = []
    blocks = _unsplittable(src)
    for item in items:
        is_new_line = item[0] == item[1] == src.line_span(item[0])[0] and item[2].endswith(b"\n")
        start, end = (item[0], item[0]) if is_new_line else _widened(src, item[0], item[1], blocks)
        if result and (start < result[-1].end or _goes_on(src.data, result[-1], start, end)):
            before = result.pop()
            result.append(GatedLines(before.start, max(before.end, end), (*before.edits, item)))
        else:
            result.append(GatedLines(start, end, (item,)))
    return result


def _goes_on(data: bytes, before: GatedLines, start: int, end: int) -> bool:
    """Whether lines follow others straight on, so that one gate serves both. A condition has a gate of its own kind."""
    if start != before.end or start == end or before.start == before.end:
        return False
    return not _CONDITIONAL.search(data[before.start : before.end]) and not _CONDITIONAL.search(data[start:end])


def _widened(src: CxxFile, first: int, last: int, blocks: list[tuple[int, int]]) -> tuple[int, int]:
    start = src.line_span(first)[0]
    end = src.line_span(max(last - 1, first))[1]
    while True:
        before = (start, end)
        # Lines joined by a backslash are one line to the preprocessor: a gate cannot stand between them.
        while _joined(src.data, start):
            start = src.line_span(start - 1)[0]
        while _joined(src.data, end):
            end = src.line_span(end)[1]
        for block_start, block_end in blocks:
            if block_start < end and start < block_end:
                start = min(start, src.line_span(block_start)[0])
                end = max(end, src.line_span(block_end - 1)[1])
        if (start, end) == before:
            return start, end


def _joined(data: bytes, line_start: int) -> bool:
    """Whether the line that ends just before `line_start` goes on there."""
    return 0 < line_start < len(data) and data[max(line_start - 3, 0) : line_start].rstrip(b"\r\n").endswith(b"\\")


def _unsplittable(src: CxxFile) -> list[tuple[int, int]]:
    """Comments and raw strings of several lines: a directive inside them would be text."""
    spans = sorted((start, end) for _, start, end in (*src.split.comments, *src.split.strings))
    return [(start, end) for start, end in spans if b"\n" in src.data[start:end]]
