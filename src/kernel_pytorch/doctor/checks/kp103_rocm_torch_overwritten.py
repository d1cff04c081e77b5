"""A ROCm torch that was overwritten

What: Traces of a ROCm torch (its Triton, its libraries, a torchvision built for ROCm) beside a torch that is not a
    ROCm build.
Why: A `pip install` of a package that pins torch took the CUDA wheel from PyPI and replaced the ROCm build. The
    packages that stayed behind no longer fit. pip's records show which run installed the present torch, and which
    package of that run asked for it.
Fix: Reinstall the ROCm build. Then install that package with `--no-deps`, or let `kpt deps` plan the installation.
Source: bmaltais/kohya_ss#2228 and invoke-ai/InvokeAI#7146 (a CUDA torch replaces the ROCm one);
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 0;
    https://packaging.python.org/specifications/recording-installed-packages/ (RECORD and REQUESTED).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.advice import install_rocm_torch
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.torch_install import Culprit, rocm_leftovers, who_brought_torch

CHECK = Check("KP103", "rocm-torch-overwritten", "torch", Applies.TORCH)


def check(machine: Machine) -> Iterator[CheckResult]:
    torch = machine.torch
    assert torch is not None
    if torch.build == "rocm":
        yield CHECK.ok("the ROCm torch is in place")
        return
    leftovers = rocm_leftovers(torch, machine.distributions)
    if not leftovers:
        yield CHECK.ok("no trace of a ROCm torch that was here before")
        return
    culprits = who_brought_torch(torch, machine.distributions)
    python = machine.probe.python or "python3"
    again = tuple(f"{python} -m pip install --no-deps {item.name}" for item in culprits if item.name != "torch")
    yield CHECK.red(
        f"torch {torch.version} replaced a ROCm torch (left behind: {', '.join(leftovers[:4])}). {_blame(machine)}",
        *install_rocm_torch(machine),
        *again[:3],
    )


def _blame(machine: Machine) -> str:
    assert machine.torch is not None
    culprits = who_brought_torch(machine.torch, machine.distributions)
    if not culprits:
        return "pip's records do not say which package brought it"
    record = max(machine.torch.records, key=lambda item: item.installed_at)
    when = datetime.fromtimestamp(record.installed_at, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return f"It came on {when} with " + "; ".join(_one(item) for item in culprits[:3])


def _one(item: Culprit) -> str:
    if item.name == "torch":
        return "torch itself, asked for by name without the ROCm index"
    return f"{' -> '.join(item.chain)} (asks for `{item.pin.partition(';')[0].strip()}`)"
