"""thrust::cuda and <thrust/system/cuda/...>

What: `thrust::cuda::par`, other members of thrust::cuda, and includes of thrust's CUDA back end.
Why: rocThrust calls its back end hip.
Fix: kpt writes `thrust::hip` and <thrust/system/hip/...> on ROCm. The experimental part (pinned_allocator) is neither
    in rocThrust nor in current Thrust. Use an allocator over hipHostMalloc in its place, or a plain std::vector.
Source: https://rocm.docs.amd.com/projects/rocThrust/en/latest/;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import directives
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP263", "thrust-cuda", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"thrust",))

_FOLDER = b"thrust/system/cuda/"


def check(src: CxxFile) -> Iterator[Finding]:
    """Each namespace use and each include."""
    for index in words(src).get(b"thrust", ()):
        at = index + 2
        if text_at(src, index + 1) == b"::" and text_at(src, at) == b"system" and text_at(src, at + 1) == b"::":
            at += 2
        if text_at(src, at - 1) == b"::" and text_at(src, at) == b"cuda" and text_at(src, at + 1) in (b"::", b";"):
            span = Span(src.code[at].start, src.code[at].end)
            if text_at(src, at + 2) == b"experimental":
                name = text_at(src, at + 4).decode("latin-1")
                yield RULE.finding(src, span, f"thrust::cuda::experimental::{name}: rocThrust does not have it")
                continue
            yield RULE.finding(src, span, "thrust::cuda: rocThrust's back end is thrust::hip", [Edit(span, b"hip")])
    for one in directives(src):
        if one.name == b"include" and one.tokens and _FOLDER in src.text(one.tokens[0]):
            start = one.tokens[0].start + src.text(one.tokens[0]).index(_FOLDER) + len(b"thrust/system/")
            span = Span(start, start + len(b"cuda"))
            if src.text(one.tokens[0])[1:].startswith(_FOLDER + b"experimental/"):
                yield RULE.finding(src, one.span, "an experimental header of thrust's CUDA back end: not in rocThrust")
                continue
            yield RULE.finding(
                src, one.span, "a header of thrust's CUDA back end: rocThrust has it under hip", [Edit(span, b"hip")]
            )
