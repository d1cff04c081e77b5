"""Calls whose arguments change form with the name: symbols and kernel addresses."""

from __future__ import annotations

from typing import NamedTuple

from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.names.table import Use, arguments


class Wrap(NamedTuple):
    """Text to put around one argument of a call. `unless` are openings that say it is done already."""

    argument: int
    before: bytes
    after: bytes
    unless: tuple[bytes, ...]


_SYMBOL = (b"HIP_SYMBOL(", b")", (b"HIP_SYMBOL", b"HIP_KERNEL_NAME", b'"'))
# HIP_SYMBOL gives the variable itself, and only the copies outside graphs have templates that take its address.
_SYMBOL_ADDRESS = (b"&", b"", (b"&", b"(", b'"', b"HIP_SYMBOL", b"static_cast", b"reinterpret_cast"))
_ADDRESS = (
    b"reinterpret_cast<const void*>(",
    b")",
    (b"reinterpret_cast", b"static_cast", b"(void", b"(const void", b"( void"),
)

# hipLaunchKernel and the driver-style queries take const void*; CUDA has templates for them.
_WRAPS = {
    "cudaMemcpyToSymbol": Wrap(0, *_SYMBOL),
    "cudaMemcpyToSymbolAsync": Wrap(0, *_SYMBOL),
    "cudaMemcpyFromSymbol": Wrap(1, *_SYMBOL),
    "cudaMemcpyFromSymbolAsync": Wrap(1, *_SYMBOL),
    "cudaGetSymbolAddress": Wrap(1, *_SYMBOL),
    "cudaGetSymbolSize": Wrap(1, *_SYMBOL),
    "cudaGraphAddMemcpyNodeToSymbol": Wrap(4, *_SYMBOL_ADDRESS),
    "cudaGraphAddMemcpyNodeFromSymbol": Wrap(5, *_SYMBOL_ADDRESS),
    "cudaGraphMemcpyNodeSetParamsToSymbol": Wrap(1, *_SYMBOL_ADDRESS),
    "cudaGraphMemcpyNodeSetParamsFromSymbol": Wrap(2, *_SYMBOL_ADDRESS),
    "cudaGraphExecMemcpyNodeSetParamsToSymbol": Wrap(2, *_SYMBOL_ADDRESS),
    "cudaGraphExecMemcpyNodeSetParamsFromSymbol": Wrap(3, *_SYMBOL_ADDRESS),
    "cudaLaunchKernel": Wrap(0, *_ADDRESS),
    "cudaLaunchCooperativeKernel": Wrap(0, *_ADDRESS),
}


def wrapping(src: CxxFile, use: Use) -> tuple[tuple[int, bytes], tuple[int, bytes]] | None:
    """Two insertions, (offset, text) each, around the argument a call must change; None if it need not."""
    wrap = _WRAPS.get(use.name.cuda)
    opening = use.at + 1
    if wrap is None or opening >= len(src.code) or src.text(src.code[opening]) != b"(":
        return None
    spans = arguments(src.data, src.code, opening)
    if spans is None or len(spans) <= max(wrap.argument, 1):
        return None
    start, end = spans[wrap.argument]
    if src.data[start:end].startswith(wrap.unless):
        return None
    return (start, wrap.before), (end, wrap.after)
