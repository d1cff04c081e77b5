"""Grids of 2^32 threads or more

What: A launch whose grid and block are numbers in the source and make 2^32 threads or more.
Why: AMD's limit of 2^32 - 1 holds for gridDim times blockDim in each dimension; CUDA's holds for gridDim alone. The
    launch fails.
Fix: Write a grid-stride loop over fewer blocks.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import split_arguments
from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.cxx.tokens import punctuation, text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP261", "grid-size", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"<<<",))

_LIMIT = 1 << 32


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each launch of too many threads."""
    for index in punctuation(src, b"<<<"):
        # The next bracket of either kind: a launch without an end is not worth a look beyond the next one.
        stops = (at for at in range(index + 1, min(index + 200, len(src.code))) if text_at(src, at) in (b">>>", b"<<<"))
        end = next(stops, None)
        if end is None or text_at(src, end) != b">>>":
            continue
        arguments = split_arguments(src, index, end)
        if len(arguments) < 2:
            continue
        first, second = (src.data[span.start : span.end] for span in arguments[:2])
        grid = constant_value(first, unit)
        block = constant_value(second, unit) if grid is not None else None
        if grid is not None and block is not None and grid * block >= _LIMIT:
            span = Span(src.code[index].start, src.code[end].end)
            yield RULE.finding(
                src, span, f"{grid} blocks of {block} threads: AMD allows fewer than 2^32 threads in a dimension"
            )
