"""__launch_bounds__ with a second argument

What: `__launch_bounds__(threads, blocks)` that asks for more than one block, or that states the blocks of a cluster as
    well.
Why: CUDA's second argument is the least number of blocks per multiprocessor. HIP's is warps per execution unit. The
    same number asks for something else, and can force spills or be refused. A third argument does not compile.
Fix: On ROCm kpt keeps the first argument only. The same request in HIP's terms would be
    blocks * threads / (wave size * SIMDs per CU).
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import split_arguments
from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP240", "launch-bounds-blocks", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__launch_bounds__",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each use with three arguments, or whose second is not plainly 0 or 1, which ask for nothing in both languages."""
    for index in words(src).get(b"__launch_bounds__", ()):
        if text_at(src, index + 1) != b"(":
            continue
        close = closing(src, index + 1)
        if close is None:
            continue
        arguments = split_arguments(src, index + 1, close)
        if len(arguments) < 2:
            continue
        second = src.data[arguments[1].start : arguments[1].end]
        if len(arguments) == 2 and constant_value(second, unit) in (0, 1):
            continue
        shown = second.decode("utf-8", "replace")
        message = f"__launch_bounds__: {shown} blocks per multiprocessor would be warps per execution unit in HIP"
        if len(arguments) > 2:
            message = "__launch_bounds__: HIP takes no third argument, the blocks of a cluster"
        edit = Edit(Span(arguments[0].end, src.code[close].start), b"")
        yield RULE.finding(src, Span(src.code[index].start, src.code[close].end), message, [edit])
