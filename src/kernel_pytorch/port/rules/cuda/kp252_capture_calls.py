"""Calls inside a stream capture that HIP refuses

What: Allocations, frees, queries and memory-pool calls between cudaStreamBeginCapture and cudaStreamEndCapture.
Why: HIP 7 answers hipErrorStreamCaptureUnsupported for several of them, also where CUDA's relaxed mode lets them pass.
    Scratch memory that grows during a capture stops the program.
Fix: Allocate before the capture, and compare the graph's replay with a run without it.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html;
    https://github.com/ggml-org/llama.cpp/pull/26592
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP252", "capture-calls", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=(b"cudaStreamBeginCapture",)
)

_REFUSED = (
    b"cudaMalloc", b"cudaMallocHost", b"cudaHostAlloc", b"cudaMallocManaged", b"cudaFree", b"cudaFreeHost",
    b"cudaEventQuery",
    b"cudaStreamQuery", b"cudaMemGetInfo", b"cudaMemPoolSetAttribute", b"cudaMemPoolTrimTo", b"cudaDeviceSynchronize",
)  # fmt: skip


def check(src: CxxFile) -> Iterator[Finding]:
    """Each such call between a begin and the next end."""
    begins = [call.span.end for call in calls(src, b"cudaStreamBeginCapture")]
    ends = [call.span.start for call in calls(src, b"cudaStreamEndCapture")]
    for call in calls(src, *_REFUSED):
        begin = max((place for place in begins if place <= call.span.start), default=None)
        if begin is None:
            continue
        end = min((place for place in ends if place >= begin), default=None)
        if end is not None and call.span.start < end:
            yield RULE.finding(
                src, call.span, f"{call.name.decode('utf-8', 'replace')} during a stream capture: HIP refuses it"
            )
