"""The buffer of a sparse triangular solve with many right sides

What: cusparseSpSM_solve, after a cusparseSpSM_analysis with the same descriptor.
Why: cuSPARSE keeps the buffer given to the analysis in the descriptor. hipSPARSE's solve takes it as a last argument.
Fix: kpt passes on the buffer of the analysis if all analyses of that descriptor in the file name the same plain
    variable. Otherwise pass it on yourself.
Source: projects/hipsparse/library/include/internal/generic/hipsparse_spsm.h in ROCm/rocm-libraries
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP272", "sparse-solve-buffer", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"cusparseSpSM_solve",)
)

_DESCRIPTOR, _BUFFER = 9, 10
_VARIABLE = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*)*")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each solve, with the buffer where it is sure which."""
    for call in calls(src, b"cusparseSpSM_solve"):
        if len(call.arguments) != _BUFFER:
            continue
        buffer = _buffer(src, call)
        if buffer is None:
            message = "hipsparseSpSM_solve needs the analysis's buffer as its last argument"
            yield RULE.finding(src, call.span, message)
        else:
            end = call.arguments[_DESCRIPTOR].end
            message = f"hipsparseSpSM_solve needs the analysis's buffer, {buffer.decode()}, as its last argument"
            yield RULE.finding(src, call.span, message, [Edit(Span(end, end), b", " + buffer)])


def _buffer(src: CxxFile, solve: Call) -> bytes | None:
    given = {
        one.argument(src, _BUFFER)
        for one in calls(src, b"cusparseSpSM_analysis")
        if len(one.arguments) == _BUFFER + 1 and one.argument(src, _DESCRIPTOR) == solve.argument(src, _DESCRIPTOR)
    }
    [buffer] = given if len(given) == 1 else [b""]
    return buffer if _VARIABLE.fullmatch(buffer) else None
