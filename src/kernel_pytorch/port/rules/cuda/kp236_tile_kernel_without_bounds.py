"""A kernel of matrix tiles without __launch_bounds__

What: A kernel that multiplies tiles (mma.sync, nvcuda::wmma) and does not say how many threads a block has.
Why: AMD's compiler then prepares for blocks of 1024 threads, for which a thread has 128 registers (CDNA) or 192
    (RDNA). Kernels that keep tiles in registers need more, and the rest goes to memory. nvcc gives every kernel up to
    255 registers. cuda_hgemm's mma_async_pg2s_ps2r spills 422 registers on gfx942 without the bound and none with it.
Fix: Where every launch that kpt sees has a constant number of threads, on ROCm the kernel gets
    `__launch_bounds__(threads)`. A launch with more threads than that fails with an error. Where the number is not a
    constant, kpt says nothing: look at `kpt build` for spilled registers, and write the bound yourself.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html ("Launch bounds")
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import split_arguments
from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.cxx.device_code import device_regions
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP236", "tile-kernel-without-bounds", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__global__",))
# Fewer threads than this leave a thread all the registers it can have.
_MOST = 512
_ATTRIBUTES = re.compile(rb"(?:cuda|hip)(?:Func\w+|Occupancy\w+)\s*\([\s\\]*(?:\([^()]*\)\s*)?&?\s*\Z")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such kernel whose launches show how many threads a block has."""
    if not any(unit.holds(word) for word in (b"mma.sync", b"mma_sync")):
        return
    for mark in words(src).get(b"__global__", ()):
        found = _kernel(src, mark)
        if found is None:
            continue
        name, body = found
        text = src.data[body.start : body.end]
        if b"mma" not in text.lower():
            continue
        sizes = _block_sizes(name, unit)
        if not sizes or None in sizes:
            continue
        threads = max(size for size in sizes if size is not None)
        if threads <= _MOST:
            span = Span(src.code[mark].start, src.code[mark].end)
            message = f"{name.decode()} has no __launch_bounds__: with {threads} threads it may have more registers"
            edit = Edit(Span(span.end, span.end), b" __launch_bounds__(%d)" % threads)
            yield RULE.finding(src, span, message, [edit])


def _kernel(src: CxxFile, mark: int) -> tuple[bytes, Span] | None:
    """The name and the body of the kernel that a __global__ begins, unless it is bounded or only declared."""
    at = mark + 1
    while at < len(src.code) and text_at(src, at) not in (b"(", b";", b"{"):
        at += 1
    if text_at(src, at) != b"(" or src.code[at - 1].kind != "identifier":
        return None
    first = mark
    while first and text_at(src, first - 1) not in (b";", b"}", b"{") and src.code[first - 1].kind != "directive":
        first -= 1
    if b"__launch_bounds__" in {text_at(src, index) for index in range(first, at)}:
        return None
    opening = src.code[at].start
    body = next((one for one in device_regions(src) if one.start > opening and one.is_kernel), None)
    close = closing(src, at)
    if body is None or close is None or text_at(src, close + 1) != b"{" or src.code[close + 1].start != body.start:
        return None
    return text_at(src, at - 1), Span(body.start, body.end)


def _block_sizes(name: bytes, unit: Unit) -> list[int | None]:
    """The threads of a block of every use; None for a use that is no launch with a constant number."""
    sizes: list[int | None] = []
    for file in unit.files:
        for index in words(file).get(name, ()):
            if _is_definition(file, index) or _ATTRIBUTES.search(_before(file, index)):
                continue
            at = index + 1
            if text_at(file, at) == b"<":
                at = next(
                    (one for one in range(at, min(at + 200, len(file.code))) if text_at(file, one) in (b"<<<", b";")),
                    at,
                )
            sizes.append(_launched(file, at, unit) if text_at(file, at) == b"<<<" else None)
    return sizes


def _before(src: CxxFile, index: int) -> bytes:
    return src.data[max(0, src.code[index].start - 120) : src.code[index].start].rpartition(b";")[2]


def _is_definition(src: CxxFile, index: int) -> bool:
    head = (text_at(src, at) for at in range(max(0, index - 12), index))
    close = closing(src, index + 1) if text_at(src, index + 1) == b"(" else None
    return b"__global__" in head and close is not None and text_at(src, close + 1) == b"{"


def _launched(src: CxxFile, opening: int, unit: Unit) -> int | None:
    """The threads of a launch whose `<<<` is there."""
    end = next((at for at in range(opening, min(opening + 200, len(src.code))) if text_at(src, at) == b">>>"), None)
    arguments = split_arguments(src, opening, end) if end is not None else ()
    if len(arguments) < 2:
        return None
    block = src.data[arguments[1].start : arguments[1].end].strip()
    if re.fullmatch(rb"[A-Za-z_]\w*", block):
        # `dim3 block(...)` of the same function: the nearest one above.
        above = src.data[: arguments[1].start]
        declared = re.compile(rb"\bdim3\s+(?:const\s+)?%s\s*(?:=\s*dim3\s*)?[({]([^;{}]*)[)}]\s*;" % block).findall(
            above
        )
        block = declared[-1] if declared else block
    block = re.sub(rb"^(?:dim3\s*[({])(.*)[)}]$", rb"\1", block, flags=re.DOTALL)
    product = 1
    for part in block.split(b","):
        value = constant_value(part.strip(), unit, of_warps=True)
        if value is None or value < 1:
            return None
        product *= value
    return product
