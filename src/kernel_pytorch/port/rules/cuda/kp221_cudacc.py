"""__CUDACC__ and __NVCC__ in preprocessor conditions

What: `#ifdef __CUDACC__`, `#if defined(__NVCC__)` and the like, and `#define __CUDACC__`.
Why: HIP's compiler defines only __HIPCC__. Kernels and __device__ marks behind such a test disappear, and host
    substitutes for CUDA functions appear twice. Defining __CUDACC__ by hand makes rocThrust use its CUDA back end.
Fix: The test asks for __HIPCC__ (__HIPCC_RTC__ for __CUDACC_RTC__). A #define of it is left out on ROCm in a .cu or
    .cuh file, and reported elsewhere. Where torch builds the extension, kpt leaves the tests of __CUDACC__ to torch's
    own renaming, which knows that name but not __NVCC__.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.branches import branch_text, only_pragmas
from kernel_pytorch.port.cxx.compiled_on_rocm import is_rocm_macro
from kernel_pytorch.port.cxx.directives import Directive, conditionals, directives
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP221", "cudacc", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"__CUDACC", b"__NVCC__"))

_MACROS = {b"__CUDACC__": b"__HIPCC__", b"__NVCC__": b"__HIPCC__", b"__CUDACC_RTC__": b"__HIPCC_RTC__"}
# A path for nvcc of a certain age, or for an editor's parser, is not meant for HIP.
_ELSEWHERE = frozenset({
    b"__CUDACC_VER_MAJOR__", b"__CUDACC_VER_MINOR__", b"CUDA_VERSION", b"CUDART_VERSION", b"__INTELLISENSE__",
    b"__CLION_IDE__", b"__clang__",
})  # fmt: skip


def check(src: CxxFile) -> Iterator[Finding]:
    """Each conditional that tests for nvcc and does not know HIP."""
    editor_only = _editor_regions(src)
    without_effect = _pragma_only(src)
    for directive in directives(src):
        texts = [src.text(token) for token in directive.tokens]
        if _defines_by_hand(directive, texts) and not any(
            start <= directive.span.start < end for start, end in editor_only
        ):
            message = (
                f"{texts[0].decode('utf-8', 'replace')} is defined by hand: rocThrust then takes its CUDA back end"
            )
            # What is behind such tests is there on ROCm without it, in a file that HIP's compiler gets.
            edits = [Edit(directive.span, b"")] if src.path.endswith((".cu", ".cuh")) else []
            yield RULE.finding(src, directive.span, message, edits)
        if directive.name not in (b"if", b"elif", b"ifdef", b"ifndef"):
            continue
        if any(is_rocm_macro(text) or text in _ELSEWHERE or text == b"__HIPCC_RTC__" for text in texts):
            continue
        if directive.span.start in without_effect:
            continue
        edits = [
            Edit(Span(token.start, token.end), _MACROS[text])
            for token, text in zip(directive.tokens, texts, strict=True)
            if text in _MACROS
        ]
        if edits:
            named = ", ".join(dict.fromkeys(text.decode("utf-8", "replace") for text in texts if text in _MACROS))
            yield RULE.finding(
                src, directive.span, f"{named} is not defined by HIP's compiler: the other branch is taken", edits
            )


def _defines_by_hand(directive: Directive, texts: list[bytes]) -> bool:
    return directive.name == b"define" and bool(texts) and texts[0] in _MACROS


def _pragma_only(src: CxxFile) -> set[int]:
    """Starts of conditionals that only hold #pragma lines: nothing depends on them."""
    return {
        conditional.branches[0].directive.span.start
        for conditional in conditionals(src)
        if all(only_pragmas(branch_text(src, branch)) for branch in conditional.branches)
    }


def _editor_regions(src: CxxFile) -> list[tuple[int, int]]:
    return [
        (branch.body.start, branch.body.end)
        for conditional in conditionals(src)
        for branch in conditional.branches
        if any(src.text(token) in (b"__INTELLISENSE__", b"__CLION_IDE__") for token in branch.directive.tokens)
    ]
