"""nvcuda::wmma that a port does not carry over

What: Matrix fragments of 4 bits or 1 bit (wmma::experimental, bmma_sync), an element of a fragment that is chosen by
    its position (`c.x[2]`) instead of by a loop over all of them, a loop over `c.x[i]` that computes a row or a column
    from `i`, the old pipelines of nvcuda::experimental, and functions that are built into nvcc
    (`__hmma_m16n16k16_ld_a` and the like). A function has one finding of a kind, with their number.
Why: kpt writes nvcuda::wmma out for AMD: fragments of a 32-lane warp on MFMA (CDNA), WMMA (RDNA3, RDNA4) or plain FMA,
    for half, bfloat16, signed and unsigned char, tf32 and double (docs/wmma.md). AMD's matrix units have no 1-bit
    products. Which element of the matrix `x[2]` of a lane is, CUDA leaves open, and it is another one on AMD.
Fix: Unpack 4-bit values to signed char, in tiles of 16x16x16, and write 1-bit products with __popc. If you need an
    element by its position, store the fragment to shared memory and read it there.
Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#warp-matrix-functions: "The mapping of matrix
    elements into fragment internal storage is unspecified"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import DeviceRegion, device_region_at
from kernel_pytorch.port.cxx.loops import counting_loops
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP235", "wmma-fragments", languages=("cuda",), safety=Safety.MANUAL, triggers=(
    b"wmma", b"nvcuda", b"__hmma_", b"__imma_", b"__bmma_", b"__dmma_", b"__mma_",
))  # fmt: skip

_BUILT_IN = re.compile(rb"\b__(?:[hibd]mma|mma_\w+?)_m\d+n\d+k\d+_\w+(?=\s*\()")


def check(src: CxxFile) -> Iterator[Finding]:
    """The first use of each thing that is missing, and each element by position."""
    built_in = [
        Span(*found.span())
        for found in _BUILT_IN.finditer(src.data)
        if device_region_at(src, found.start()) is not None
    ]
    yield from _placed(src, built_in, "a built-in function of nvcc: nvcuda::wmma has the same, and is carried over")
    if b"nvcuda" not in words(src) and b"wmma" not in words(src):
        return
    for what, spans in _sub_byte(src).items():
        yield from _placed(src, spans, f"wmma::experimental: {what}")
    for index in words(src).get(b"nvcuda", ()):
        if text_at(src, index + 1) == b"::" and text_at(src, index + 2) == b"experimental":
            span = Span(src.code[index].start, src.code[index + 2].end)
            yield RULE.finding(
                src, span, "nvcuda::experimental is gone from CUDA 12 and not carried over: cuda::pipeline is"
            )
            break
    yield from _placed(
        src, _by_position(src), "a fragment element chosen by its position: on AMD it is another element of the matrix"
    )
    yield from _placed(
        src,
        _by_loop(src),
        "computes a row or a column from an element's position in a fragment: on AMD that is another element",
    )


_FOUR_BITS = "fragments of 4 bits are not translated: unpack them to signed char in tiles of 16x16x16"
_ONE_BIT = "1-bit products are not translated: write them with __popc"


def _sub_byte(src: CxxFile) -> dict[str, list[Span]]:
    """The places that name fragments of less than a byte, by what is to be done about them."""
    found: dict[str, list[Span]] = {}
    for index in words(src).get(b"experimental", ()):
        if text_at(src, index - 1) != b"::" or text_at(src, index - 2) != b"wmma":
            continue
        kind = text_at(src, index + 4) if text_at(src, index + 2) == b"precision" else text_at(src, index + 2)
        # `using namespace` does not say which: the file's other names do.
        names = (kind,) if text_at(src, index + 1) == b"::" else words(src)
        span = Span(src.code[index - 2].start, src.code[index].end)
        if b"s4" in names or b"u4" in names:
            found.setdefault(_FOUR_BITS, []).append(span)
        if not (b"s4" in names or b"u4" in names) or b"bmma_sync" in names:
            found.setdefault(_ONE_BIT, []).append(span)
    return found


def _placed(src: CxxFile, spans: Iterable[Span], message: str) -> Iterator[Finding]:
    """One finding for each function."""
    found: dict[DeviceRegion | None, list[Span]] = {}
    for span in spans:
        found.setdefault(device_region_at(src, span.start), []).append(span)
    for same in found.values():
        more = f" ({len(same)} places in this function)" if len(same) > 1 else ""
        yield RULE.finding(src, same[0], message + more)


def _elements(src: CxxFile) -> Iterator[int]:
    """The tokens `x` of `fragment.x[...]`."""
    fragments = _fragments(src)
    for index in words(src).get(b"x", ()):
        if text_at(src, index - 1) == b"." and text_at(src, index + 1) == b"[" and _base(src, index - 2) in fragments:
            yield index


def _by_position(src: CxxFile) -> Iterator[Span]:
    for index in _elements(src):
        # One name is the variable of a loop over the elements.
        if text_at(src, index + 3) == b"]" and src.code[index + 2].kind == "identifier":
            continue
        yield Span(src.code[index].start, src.code[index + 1].end)


def _by_loop(src: CxxFile) -> Iterator[Span]:
    """Loops over elements that use their variable for something else as well."""
    variables: dict[int, bytes] = {src.code[index].start: text_at(src, index + 2) for index in _elements(src)}
    for loop in counting_loops(src):
        own = [at for at, name in variables.items() if loop.body.start <= at < loop.body.end and name == loop.variable]
        if not own:
            continue
        region = device_region_at(src, loop.head.start)
        above = src.data[region.start : loop.head.start] if region else b""
        rest = re.sub(rb"\.\s*x\s*\[\s*%s\s*\]" % loop.variable, b"", src.data[loop.body.start : loop.body.end])
        rest = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", rest, flags=re.DOTALL)
        for name in re.findall(rb"\b(\w+)\s*\[\s*%s\s*\]" % loop.variable, rest):
            # An array of the function with an element for each of the fragment's: no place in the matrix.
            if re.search(rb"\b\w+\s+%s\s*\[" % name, above):
                rest = re.sub(rb"\b%s\s*\[\s*%s\s*\]" % (name, loop.variable), b"", rest)
        if re.search(rb"\b%s\b" % loop.variable, rest):
            yield loop.head


def _fragments(src: CxxFile) -> frozenset[bytes]:
    """The variables whose type is written `fragment<...>`."""
    found = set()
    for index in words(src).get(b"fragment", ()):
        at, depth = index + 1, 0
        while at < len(src.code):
            text = src.text(src.code[at])
            depth += (text == b"<") - (text == b">") - 2 * (text == b">>")
            at += 1
            if depth <= 0 or text in (b";", b"{"):
                break
        while text_at(src, at) in (b"&", b"const"):
            at += 1
        if at < len(src.code) and src.code[at].kind == "identifier":
            found.add(src.text(src.code[at]))
    return frozenset(found)


def _base(src: CxxFile, at: int) -> bytes:
    """The variable in front of the subscripts that end at a token."""
    depth = 0
    while at > 0:
        text = src.text(src.code[at])
        depth += (text == b"]") - (text == b"[")
        if depth == 0 and text != b"[":
            return text
        at -= 1
    return b""
