"""__maxnreg__ on a kernel

What: the `__maxnreg__(n)` attribute.
Why: HIP's compiler does not know it; AMD's registers are counted per wave and not capped this way.
Fix: the attribute goes on ROCm; __launch_bounds__ is what limits registers there. (-maxrregcount in build files is
  handled with the build files.)
Source: rules catalogue row 35; https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP241", "register-limit", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__maxnreg__",))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each use of the attribute."""
    for index in words(src).get(b"__maxnreg__", ()):
        if text_at(src, index + 1) != b"(":
            continue
        close = closing(src, index + 1)
        if close is None:
            continue
        span = Span(src.code[index].start, src.code[close].end)
        yield RULE.finding(src, span, "__maxnreg__ is unknown to HIP's compiler", [Edit(span, b"")])
