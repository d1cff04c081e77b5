"""Settings of a cuBLASLt product that change nothing on AMD

What: cublasLtMatmulDescSetAttribute with CUBLASLT_MATMUL_DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, or with
  CUBLASLT_MATMUL_DESC_SCALE_TYPE where it repeats the type the descriptor was made with.
Why: hipBLASLt has no such attribute, so the name does not compile. The first allows a less exact accumulation of FP8
  products, the second limits how many multiprocessors are used: a library that ignores both gives results that are
  right by CUDA's own definition. The third is fixed when hipBLASLt's descriptor is made.
Fix: the call becomes the status of success. A scale type that differs, or is not seen, is left: KP202 names it.
Source: hipblaslt/hipblaslt.h of ROCm 7.2; https://docs.nvidia.com/cuda/cublas/#cublasltmatmuldescattributes-t
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

_HINTS = (b"CUBLASLT_MATMUL_DESC_FAST_ACCUM", b"CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET")

_SCALE_TYPE = b"CUBLASLT_MATMUL_DESC_SCALE_TYPE"

RULE = Rule("KP270", "library-hints", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(*_HINTS, _SCALE_TYPE))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each call that sets such an attribute."""
    for call in calls(src, b"cublasLtMatmulDescSetAttribute"):
        if len(call.arguments) != 4:
            continue
        attribute = call.argument(src, 1)
        if attribute in _HINTS:
            message = f"{attribute.decode()} has no counterpart in hipBLASLt and changes speed or exactness only"
        elif attribute == _SCALE_TYPE and _repeats_scale_type(src, call):
            message = f"{attribute.decode()} has no counterpart in hipBLASLt and repeats what the descriptor has"
        else:
            continue
        yield RULE.finding(src, call.span, message, [Edit(call.span, b"CUBLAS_STATUS_SUCCESS")])


def _repeats_scale_type(src: CxxFile, call: Call) -> bool:
    """Whether the variable only ever holds the scale type that every making of this descriptor names."""
    made = {
        one.argument(src, 2)
        for one in calls(src, b"cublasLtMatmulDescCreate")
        if len(one.arguments) == 3 and one.argument(src, 0) == b"&" + call.argument(src, 0)
    }
    value = re.fullmatch(rb"&\s*([A-Za-z_]\w*)", call.argument(src, 2))
    if len(made) != 1 or value is None:
        return False
    given = re.findall(rb"\b" + value.group(1) + rb"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)\s*([^;,]+)", src.data)
    return bool(given) and {one.strip() for one in given} == made
