"""No torch in this Python

What: The Python that runs doctor has no `torch` package.
Why: Doctor cannot look at the torch build, its devices or its Inductor settings. Everything else works.
Fix: Install the torch build for this machine's GPU, or point doctor at the Python that has it: `kpt doctor --python
    PATH`.
Source: PyTorch's notes on ROCm builds, https://docs.pytorch.org/docs/main/notes/hip.html; Python's import system (the
    search path of an interpreter).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.advice import install_rocm_torch
from kernel_pytorch.doctor.check import Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP101", "torch-missing", "torch")


def check(machine: Machine) -> Iterator[CheckResult]:
    torch = machine.torch
    if torch is None:
        commands = install_rocm_torch(machine) if machine.has_amd_gpu and machine.is_amd else ()
        yield CHECK.note("torch is not installed in this Python", *commands)
        return
    runtime = {"rocm": f"HIP {torch.hip}", "cuda": f"CUDA {torch.cuda}", "cpu": "no GPU support"}[torch.build]
    yield CHECK.ok(f"torch {torch.version} ({torch.build} build, {runtime})")
