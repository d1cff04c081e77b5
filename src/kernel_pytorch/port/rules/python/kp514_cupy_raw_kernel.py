"""cupy.RawKernel

What: CUDA source compiled at run time through cupy: RawKernel, RawModule, ElementwiseKernel with device code.
Why: on ROCm cupy hands the text to hiprtc as HIP. Plain C works; warps of 32, PTX and CUDA headers do not.
Fix: a person looks at the kernel; `kpt hipify` translates its text. Nothing is rewritten.
Source: catalogue row 160.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP514", "cupy-raw-kernel", ("python",), Safety.MANUAL, (b"RawKernel", b"RawModule"))


def check(module: PythonModule) -> Iterator[Finding]:
    for name in ("RawKernel", "RawModule"):
        for call in module.calls(f"cupy.{name}"):
            yield RULE.finding(
                module.src, module.span(call), f"cupy.{name} compiles CUDA source: on ROCm it is read as HIP"
            )
