"""libcu++: cuda::std, cuda::atomic_ref, <cuda/...>

What: an #include of <cuda/...> or <nv/target>, or a use of cuda::std without one.
Why: the library comes with CUDA's toolkit, not with ROCm.
Fix: a person's: ROCm/libhipcxx provides most of it under the same names and has to be vendored; 8- and 16-bit
  compare-and-swap is broken there. Often std:: does: type traits, numeric limits and tuples of std work in HIP device
  code, and __hip_atomic_* replaces cuda::atomic_ref.
Source: rules catalogue row 60; https://github.com/ROCm/libhipcxx
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.rules.reading import directives, text_at, words

if TYPE_CHECKING:
    from kernel_pytorch.port.cuda.unit import Unit
    from kernel_pytorch.port.source import SourceFile

RULE = Rule(
    "KP234", "libcudacxx", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"<cuda/", b"<nv/", b"cuda::")
)

_MEMBERS = frozenset({
    b"std", b"atomic", b"atomic_ref", b"atomic_thread_fence", b"barrier", b"pipeline", b"memcpy_async",
    b"thread_scope_device",
    b"thread_scope_block", b"thread_scope_system", b"thread_scope_thread", b"aligned_size_t", b"ptx",
    b"device", b"access_property",
})  # fmt: skip


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each include of the library; a use where no include is in sight."""
    found = False
    for one in directives(src):
        if one.name != b"include" or not one.tokens:
            continue
        name = src.text(one.tokens[0])
        if name.startswith((b"<cuda/", b"<nv/target", b'"cuda/std/')):
            found = True
            header = name[1:-1].decode("utf-8", "replace")
            yield RULE.finding(
                src, one.span, f"<{header}> is libcu++, which ROCm does not have: libhipcxx, or std:: where it does"
            )
    if found:
        return
    for index in words(src).get(b"cuda", ()):
        before = text_at(src, index - 1)
        if before == b"::" and src.code[index - 2].kind == "identifier":
            continue
        if text_at(src, index + 1) == b"::" and text_at(src, index + 2) in _MEMBERS:
            member = text_at(src, index + 2).decode("utf-8", "replace")
            span = Span(src.code[index].start, src.code[index + 2].end)
            yield RULE.finding(
                src, span, f"cuda::{member} is libcu++, which ROCm does not have: libhipcxx, or std:: where it does"
            )
            return
