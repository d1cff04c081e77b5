"""Headers of THC

What: `#include <THC/THC.h>` and other headers of torch's old tensor library.
Why: torch removed them in 1.11, on CUDA as well. Every torch for today's AMD GPUs is newer, and a build stops at the
    first of them.
Fix: On ROCm kpt includes what today's torch has in their place. The CUDA side stays as it was, for the old torch it
    needs. KP287 replaces names that came with the headers, where the compiler misses them.
Source: https://github.com/pytorch/pytorch/pull/66391 (THC removed), ATen/cuda/Exceptions.h, ATen/ceil_div.h
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.includes import includes_in
from kernel_pytorch.port.names.old_torch import OLD_HEADER, todays_headers
from kernel_pytorch.port.names.rename import newline_of
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP299", "thc-header", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"THC/", b"THCUNN/", b"TH/")
)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each include of such a header."""
    for include in includes_in(src):
        if OLD_HEADER.match(include.name):
            span = Span(include.start, include.end)
            message = f"torch has no {include.name} since version 1.11"
            yield RULE.finding(src, span, message, [Edit(span, todays_headers(include.name, newline_of(src)))])
