"""A call of rocBLAS with a handle that becomes hipBLAS's

What: A function with a parameter of type cublasHandle_t or cublasStatus_t whose AMD side uses rocBLAS: `rocblas_hgemm`,
    `rocblas_status_success`. One finding for each such function.
Why: The branch was written when torch renamed cuBLAS to rocBLAS, up to torch 2.0. Since 2.1 torch, and kpt, rename it
    to hipBLAS. A hipblasHandle_t is no rocblas_handle, the operations and the status are other enumerations, and the
    call does not compile.
Fix: Call hipBLAS there (`hipblasHgemm`, `hipblasGemmEx` for bfloat16), or remove the AMD branch: the renamed cuBLAS
    call beside it does the same. kpt does not report code behind a test of torch's version.
Source: torch/utils/hipify/cuda_to_hip_mappings.py (torch 2.13: cublasHandle_t is hipblasHandle_t);
    https://github.com/deepspeedai/DeepSpeed/blob/master/csrc/includes/cublas_wrappers.h (both forms by torch's version)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled
from kernel_pytorch.port.cxx.directives import conditionals
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule(
    "KP212",
    "rocblas-with-hipblas-handle",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"rocblas_",),
)

_RENAMED = (b"cublasHandle_t", b"cublasStatus_t")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """The first use of rocBLAS in each function that takes something of cuBLAS's."""
    reported = 0
    for index in sorted({index for name in _RENAMED for index in words(src).get(name, ())}):
        body = _body(src, index)
        if body is None or body[0] < reported:
            continue
        for at in range(*body):
            name = text_at(src, at)
            if not name.startswith(b"rocblas_") or name in unit.macros or not _is_used(src, src.code[at].start):
                continue
            reported = body[1]
            message = (
                f"{name.decode('latin-1')} is rocBLAS's, but {text_at(src, index).decode()} becomes hipBLAS's: "
                "the two do not convert"
            )
            yield RULE.finding(src, Span(src.code[at].start, src.code[at].end), message)
            break


def _body(src: CxxFile, parameter: int) -> tuple[int, int] | None:
    """The tokens of the function whose parameter list holds a token."""
    at = parameter
    while at > 0 and text_at(src, at) not in (b"(", b";", b"{", b"}"):
        at = at - 1
    end = closing(src, at) if text_at(src, at) == b"(" else None
    last = closing(src, end + 1) if end is not None and text_at(src, end + 1) == b"{" else None
    return None if end is None or last is None else (end + 1, last)


def _is_used(src: CxxFile, offset: int) -> bool:
    """Whether a ROCm build compiles the place, whatever torch's version is."""
    around = (
        branch for one in conditionals(src) for branch in one.branches if branch.body.start <= offset < branch.body.end
    )
    by_version = any(b"TORCH_VERSION" in src.text(token) for one in around for token in one.directive.tokens)
    return is_compiled(src, offset) and not by_version
