"""Kernels launched from device code

What: `<<<...>>>` in a __global__ or __device__ function, or CUDA's device-side launch functions.
Why: HIP has no dynamic parallelism; the launch does not compile.
Fix: a person's: launch from the host (with the sizes read back or computed ahead), or make the child a device function
  that the parent's threads share, or a persistent kernel with a work queue.
Source: rules catalogue row 36; https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.tokens import punctuation
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP242", "dynamic-parallelism", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"<<<", b"cudaLaunchDevice")
)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each launch that device code makes."""
    for index in punctuation(src, b"<<<"):
        token = src.code[index]
        region = device_region_at(src, token.start)
        if region is not None and not region.is_host_too and index:
            span = Span(src.code[index - 1].start, token.end)
            yield RULE.finding(
                src, span, "a kernel launched from device code: HIP has no dynamic parallelism (effort: days)"
            )
    for call in calls(src, b"cudaLaunchDevice", b"cudaLaunchDeviceV2", b"cudaGetParameterBuffer"):
        yield RULE.finding(
            src,
            call.span,
            f"{call.name.decode('utf-8', 'replace')} launches from device code: HIP has no dynamic parallelism",
        )
