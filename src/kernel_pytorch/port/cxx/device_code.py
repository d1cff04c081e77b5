"""Which parts of a file run on the device."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.port.cxx.directives import directive_at
from kernel_pytorch.port.cxx.source import CxxFile, read_once
from kernel_pytorch.port.cxx.tokens import closing, text_at, words


@dataclass(frozen=True)
class DeviceRegion:
    """The body of a function that runs on the device."""

    start: int
    end: int
    is_kernel: bool
    is_host_too: bool


@read_once
def device_regions(src: CxxFile) -> tuple[DeviceRegion, ...]:
    """Bodies of functions marked __global__ or __device__, in order."""
    known = words(src)
    marks = sorted((*known.get(b"__global__", ()), *known.get(b"__device__", ())))
    regions: list[DeviceRegion] = []
    for mark in marks:
        body = _body_after(src, mark)
        close = None if body is None else closing(src, body)
        if body is None or close is None or not _ends_with_its_line(src, mark, close):
            continue
        head = {text_at(src, index) for index in range(max(0, mark - 4), body)}
        region = DeviceRegion(
            src.code[body].start, src.code[close].end, text_at(src, mark) == b"__global__", b"__host__" in head
        )
        if not regions or regions[-1].start != region.start:
            regions.append(region)
    return tuple(regions)


def _ends_with_its_line(src: CxxFile, mark: int, close: int) -> bool:
    """A mark in a macro opens a body only if the macro has all of it: `#define KERNEL __global__ void` has none."""
    line = directive_at(src, src.code[mark].start)
    return line is None or src.code[close].start < line.span.end


# The first bytes of what matters between a function's mark and its body.
_OF_A_HEAD = re.compile(rb"[][(){}#:;=]")


def _body_after(src: CxxFile, mark: int) -> int | None:
    depth = 0
    before: list[int] = []  # the branches of a conditional often open the same bracket twice
    initialises = False
    code, index = src.code, mark
    while (found := _OF_A_HEAD.search(code.firsts, index + 1, mark + 2000)) is not None:
        index = found.start()
        text = text_at(src, index)
        if code[index].kind == "directive":
            name = text[1:].strip()
            if name.startswith(b"if"):
                before.append(depth)
            elif name.startswith(b"el") and before:
                depth = before[-1]
            elif name == b"endif" and before:
                before.pop()
        elif text in (b"(", b"["):
            depth += 1
        elif text in (b")", b"]"):
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and text == b":" and text_at(src, index - 1) in (b")", b"noexcept"):
            initialises = True
        elif depth == 0 and text == b"{" and initialises and code[index - 1].kind == "identifier":
            # A member of a constructor's list, as in `: scale{1.f}`.
            end = closing(src, index)
            if end is None:
                return None
            index = end
        elif depth == 0 and text == b"{":
            return index
        elif depth == 0 and text in (b";", b"=", b"}"):
            return None
    return None


def device_region_at(src: CxxFile, offset: int) -> DeviceRegion | None:
    """The innermost device function an offset lies in."""
    found = None
    for region in device_regions(src):
        if region.start <= offset < region.end:
            found = region
        elif region.start > offset:
            break
    return found
