"""A kernel of matrix tiles without __launch_bounds__

What: A kernel that multiplies tiles (mma.sync, nvcuda::wmma) and does not say how many threads a block has.
Why: AMD's compiler then prepares for blocks of 1024 threads, for which a thread has 128 registers (CDNA) or 192
    (RDNA). Kernels that keep tiles in registers need more, and the rest goes to memory. nvcc gives every kernel up to
    255 registers. cuda_hgemm's mma_async_pg2s_ps2r spills 422 registers on gfx942 without the bound and none with it.
Fix: Where every launch that kpt sees shows the number of threads, on ROCm the kernel gets `__launch_bounds__(threads)`.
    The number may come from constants, variables, `dim3`, a condition, `min`, a function that returns it, or template
    parameters of the function that launches. Parameters that go on to the kernel stay in the bound, as in
    `__launch_bounds__(32 * Warps)`. A launch with more threads than the bound fails with an error. Where a launch takes
    the number from an argument or computes it at run time, kpt says nothing: look at `kpt build` for spilled registers,
    and write the bound yourself.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html ("Launch bounds")
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_regions
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.block_sizes import template_parameters, threads_of

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP236", "tile-kernel-without-bounds", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__global__",))
# Fewer threads than this leave a thread all the registers it can have.
_MOST = 512
_PRODUCT = re.compile(rb"(?<![a-z])(?:[hidbw]|ld)?mma(?![a-z])", re.IGNORECASE)
_HEAD = re.compile(rb"(\w+)\s*\([^{};]*\)\s*\Z")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such kernel whose launches show how many threads a block has."""
    # A small part of the text answers for almost all files.
    may_name = b"mma" in src.vocabulary_text.lower() and _PRODUCT.search(src.data) is not None
    if not may_name and src.vocabulary.isdisjoint(_products(unit)):
        return
    for mark in words(src).get(b"__global__", ()):
        found = _kernel(src, mark)
        if found is None:
            continue
        name, body = found
        if not _multiplies(src.data[body.start : body.end], unit):
            continue
        threads = threads_of(name, template_parameters(src, src.code[mark].start), unit)
        if threads is None or (threads.value is not None and threads.value > _MOST):
            continue
        span = Span(src.code[mark].start, src.code[mark].end)
        kernel = name.decode()
        message = (
            f"{kernel} has no __launch_bounds__: launched with {threads.text} threads, it could use more registers"
        )
        edit = Edit(Span(span.end, span.end), f" __launch_bounds__({threads.text})".encode())
        yield RULE.finding(src, span, message, [edit])


def _multiplies(body: bytes, unit: Unit) -> bool:
    """Whether a kernel names a product, as in `HMMA16816(...)`, or calls a function of the unit that is one. The header
    with the instruction may be out of sight."""
    return _PRODUCT.search(body) is not None or any(
        re.search(rb"\b%b\b" % name, body) is not None for name in _products(unit)
    )


@lru_cache(maxsize=2)
def _products(unit: Unit) -> frozenset[bytes]:
    """The device functions that hold an mma.sync."""
    return frozenset(
        found[1]
        for file in unit.files
        if file.holds(b"mma.sync")
        for region in device_regions(file)
        if b"mma.sync" in file.data[region.start : region.end]
        if (found := _HEAD.search(file.data, max(0, region.start - 2000), region.start)) is not None
    )


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
