"""cupy.RawKernel

What: CUDA source compiled at run time through cupy: RawKernel, RawModule, ElementwiseKernel with device code.
Why: On ROCm cupy hands the text to hiprtc as HIP. Plain C works; warps of 32, PTX and CUDA headers do not.
Fix: Look at the kernel; `kpt hipify` translates its text. kpt rewrites nothing.
Source: https://github.com/cupy/cupy/blob/v8.6.0/docs/source/install_rocm.rst;
    https://github.com/bbenchoff/OrthoRoute/discussions/15
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
