"""CUDA source that cupy compiles

What: CUDA source compiled at run time through cupy: RawKernel, RawModule, compile_with_cache; names in such a string
    that HIP has not; the CUDA folder asked of cupy.
Why: On ROCm cupy hands the text to hiprtc as HIP. Plain C works; warps of 32, PTX and CUDA headers do not.
    compile_with_cache is gone from the cupy that has wheels for ROCm 7. get_cuda_path() is None there, which no path
    and no environment variable takes.
Fix: What is in the way in a string has a finding at its line; `kpt hipify` translates the text of a file. Write
    RawModule(code=...) for compile_with_cache, and `get_rocm_path() or get_cuda_path()` for the folder. kpt rewrites
    nothing.
Source: https://github.com/cupy/cupy/blob/v8.6.0/docs/source/install_rocm.rst;
    https://github.com/bbenchoff/OrthoRoute/discussions/15; the wheel cupy-rocm-7-0 14.2.0 (cupy/_environment.py,
    cupy/cuda/__init__.py)
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule(
    "KP514",
    "cupy-raw-kernel",
    ("python",),
    Safety.MANUAL,
    (b"RawKernel", b"RawModule", b"compile_with_cache", b"get_cuda_path"),
)
_GONE = ("cupy.cuda.compile_with_cache", "cupy.cuda.compiler.compile_with_cache")


def check(module: PythonModule) -> Iterator[Finding]:
    for name in ("RawKernel", "RawModule"):
        for call in module.calls(f"cupy.{name}"):
            yield RULE.finding(
                module.src, module.span(call), f"cupy.{name} compiles CUDA source: on ROCm it is read as HIP"
            )
    for call in module.calls(*_GONE):
        message = "compile_with_cache compiles CUDA source, and the cupy for ROCm 7 has it no more: use cupy.RawModule"
        yield RULE.finding(module.src, module.span(call), message)
    for call in module.calls("cupy.cuda.get_cuda_path"):
        message = "get_cuda_path() gives None on ROCm: cupy.cuda.get_rocm_path() has the counterpart"
        yield RULE.finding(module.src, module.span(call), message)
