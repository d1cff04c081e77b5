"""Kernels launched from device code

What: `<<<...>>>` in a __global__ or __device__ function, CUDA's device-side launch functions, and calls of the runtime
    that only such code makes (`cudaMalloc` or `cudaStreamCreateWithFlags` in a kernel).
Why: HIP has no dynamic parallelism and no runtime on the device. The launch, and each such call, does not compile.
Fix: Launch from the host (with sizes read back or computed ahead), make the child a device function that the parent's
    threads share, or write a persistent kernel with a work queue.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.tokens import punctuation, text_at, words
from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP242", "dynamic-parallelism", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"__global__", b"__device__")
)

# kpt writes these out for device code (port/tables/hip_shims/overloads.h).
_ON_THE_DEVICE_TOO = frozenset((b"cudaGetErrorString", b"cudaGetErrorName"))
_LAUNCHES = (b"cudaLaunchDevice", b"cudaLaunchDeviceV2", b"cudaGetParameterBuffer")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each launch that device code makes."""
    if src.vocabulary.isdisjoint((b"__global__", b"__device__", *_LAUNCHES)):
        return
    for index in punctuation(src, b"<<<"):
        token = src.code[index]
        region = device_region_at(src, token.start)
        if region is not None and not region.is_host_too and index:
            span = Span(src.code[index - 1].start, token.end)
            yield RULE.finding(
                src, span, "a kernel launched from device code: HIP has no dynamic parallelism (effort: days)"
            )
    for call in calls(src, *_LAUNCHES):
        yield RULE.finding(
            src,
            call.span,
            f"{call.name.decode('utf-8', 'replace')} launches from device code: HIP has no dynamic parallelism",
        )
    yield from _runtime_calls(src)


def _runtime_calls(src: CxxFile) -> Iterator[Finding]:
    names = [name for name in src.vocabulary if name.startswith(b"cuda") and name not in _ON_THE_DEVICE_TOO]
    for name in names:
        row = find_name(name)
        if row is None or row.kind != "function" or row.library != "runtime" or not row.hip:
            continue
        for index in words(src).get(name):
            token = src.code[index]
            region = device_region_at(src, token.start) if text_at(src, index + 1) == b"(" else None
            if region is not None and not region.is_host_too:
                message = f"{name.decode()} in device code: only the host can call HIP's runtime"
                yield RULE.finding(src, Span(token.start, token.end), message)
