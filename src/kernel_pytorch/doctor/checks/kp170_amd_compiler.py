"""No compiler for AMD GPUs

What: Which compilers here can build code for AMD GPUs: ROCm's, a plain clang, or the clang inside PyPI's ziglang.
Why: `kpt build`, `kpt emulate`, `kpt verify` and torch extensions need one. Without ROCm, two PyPI packages do.
Fix: Install ROCm, or the clang and the headers inside two pip packages: `pip install ziglang==0.17.0 "triton>=3.5"`.
Source: https://llvm.org/docs/AMDGPUUsage.html (the targets). Tried here: clang 22 from Debian and from PyPI's ziglang
    0.17 builds code objects for gfx906 to gfx1201.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.doctor.check import Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.toolchain import find

CHECK = Check("KP170", "amd-compiler", "compiler")


def check(machine: Machine) -> Iterator[CheckResult]:
    try:
        candidates = find.candidates()
    except (OSError, ValueError, RuntimeError) as error:  # it must not take the other checks with it
        yield CHECK.not_run(f"the compiler search failed: {type(error).__name__}: {error}")
        return
    found = [item for item in candidates if item.found and not item.lacks]
    if found:
        yield CHECK.ok("can build for AMD: " + ", ".join(f"{item.kind} ({item.note})" for item in found))
        return
    partial = "; ".join(f"{item.kind} lacks {', '.join(item.lacks)}" for item in candidates if item.lacks)
    yield CHECK.note(
        "no compiler for AMD GPUs" + (f" ({partial})" if partial else ""),
        f"{machine.probe.python or 'python3'} -m {pip_install('toolchain')}",
    )
