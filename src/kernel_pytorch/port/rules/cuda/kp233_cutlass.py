"""CUTLASS and CuTe

What: An #include of cutlass/ or cute/.
Why: CUTLASS generates NVIDIA instructions. There is no ROCm port of it.
Fix: Look for a twin of the kernel without CUTLASS first. If there is none, Composable Kernel (ck_tile) has GEMM,
    grouped GEMM, convolution and attention with the same kinds of epilogues, hipBLASLt has plain GEMMs, and AITER has
    attention and mixtures of experts. The message names the nearest one, judged by the words in the file.
Source: https://github.com/ROCm/composable_kernel; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.directives import directives
from kernel_pytorch.port.names.nearest_kernel import nearest_kernel
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP233", "cutlass", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"cutlass/", b"cute/"))


def check(src: CxxFile) -> Iterator[Finding]:
    """The first such include of a file, with how many there are."""
    found = [
        one
        for one in directives(src)
        if one.name == b"include" and one.tokens and src.text(one.tokens[0])[1:].startswith((b"cutlass/", b"cute/"))
    ]
    if found:
        header = src.text(found[0].tokens[0])[1:-1].decode("utf-8", "replace")
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        nearest = nearest_kernel(src) or "Composable Kernel (ck_tile), or a kernel without CUTLASS"
        message = f"{header}{more}: CUTLASS has no ROCm port; {nearest} (effort: weeks)"
        yield RULE.finding(src, found[0].span, message)
