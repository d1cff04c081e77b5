"""A structure that is filled in by position

What: `cudaMemsetParams set = {memory, 0, 1, 4, 256, 1}`: values without names for cudaKernelNodeParams,
    cudaMemsetParams or cudaAccessPolicyWindow.
Why: HIP's structures have the same members in alphabetical order. A line with numbers still compiles, and each number
    goes into the wrong member.
Fix: On ROCm kpt writes the values in HIP's order. A member that has no value gets `{}`.
Source: hipKernelNodeParams, hipMemsetParams and hipAccessPolicyWindow in projects/hip/include/hip/hip_runtime_api.h of
    ROCm/rocm-systems; https://docs.nvidia.com/cuda/cuda-runtime-api/structcudaMemsetParams.html
Since: 0.1.0
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import split_arguments
from kernel_pytorch.port.cxx.compiled_on_rocm import is_within, left_out_on_cuda
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

# For each member of HIP's structure, in its order: which of CUDA's members it is.
_ORDER = {
    # func, gridDim, blockDim, sharedMemBytes, kernelParams, extra -> blockDim, extra, func, gridDim, kernelParams, ...
    b"cudaKernelNodeParams": (2, 5, 0, 1, 4, 3),
    # dst, pitch, value, elementSize, width, height -> dst, elementSize, height, pitch, value, width
    b"cudaMemsetParams": (0, 3, 5, 1, 2, 4),
    # base_ptr, num_bytes, hitRatio, hitProp, missProp -> base_ptr, hitProp, hitRatio, missProp, num_bytes
    b"cudaAccessPolicyWindow": (0, 3, 2, 4, 1),
}

RULE = Rule("KP219", "members-by-position", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=tuple(_ORDER))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each list of values for one of the structures."""
    for name, order in _ORDER.items():
        for index in words(src).get(name, ()):
            opening = _list_after(src, index)
            close = closing(src, opening) if opening is not None else None
            if opening is None or close is None:
                continue
            # What only AMD compiles has HIP's order already: an earlier port's, or somebody's own.
            if is_within(src.code[opening].start, left_out_on_cuda(src)):
                continue
            values = [src.data[one.start : one.end].strip() for one in split_arguments(src, opening, close)]
            # One value is the way to write zeros; the members are then assigned by name.
            if len(values) < 2 or len(values) > len(order) or any(value.startswith(b".") for value in values):
                continue
            ordered = [values[at] if at < len(values) else b"{}" for at in order]
            inner = Span(src.code[opening].end, src.code[close].start)
            message = f"HIP has the members of {name.decode()} in another order: these values would go into others"
            yield RULE.finding(src, inner, message, [Edit(inner, b", ".join(ordered))])


def _list_after(src: CxxFile, index: int) -> int | None:
    """The `{` of a value for the type at `index`: `T{`, `T name{`, `T name = {`, `T name = T{` is the second T's."""
    at = index + 1
    if at < len(src.code) and src.code[at].kind == "identifier":
        at += 1
        if text_at(src, at) == b"=":
            at += 1
    return at if text_at(src, at) == b"{" else None
