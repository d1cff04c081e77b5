"""Packages made for CUDA beside a ROCm torch

What: nvidia-* libraries, pynvml, or CUDA wheels of cupy, xformers, flash-attn, bitsandbytes or jax are installed.
Why: They bring nothing on an AMD GPU. Some load and fail at the first call, and some bring a CUDA torch with the next
    upgrade. Code that finds pynvml believes it is on NVIDIA.
Fix: Remove them; `kpt deps` says what replaces each. Doctor judges compiled packages by the libraries their modules
    link to, so it does not report a ROCm build of flash-attn.
Source: pytorch/pytorch#133259 (nvidia-ml-py broke torch.cuda.device_count() on ROCm);
    https://github.com/vllm-project/vllm/blob/main/requirements/rocm.txt (vLLM's list without them).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.distributions import Distribution
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.packages import built_for, cuda_only, replacement

CHECK = Check("KP150", "cuda-packages", "packages", Applies.AMD)


def check(machine: Machine) -> Iterator[CheckResult]:
    harmless = [item for item in machine.distributions if cuda_only(item) == "dead weight"]
    harmful = [item for item in machine.distributions if cuda_only(item) == "breaks"]
    compiled = [item for item in machine.distributions if built_for(item) == "cuda"]
    python = machine.probe.python or "python3"
    blamed = list(dict.fromkeys([*harmful, *compiled]))
    if blamed:
        listed = ", ".join(_with_replacement(item) for item in blamed)
        yield CHECK.warn(
            f"built for CUDA: {listed}", f"{python} -m pip uninstall -y {' '.join(item.name for item in blamed)}"
        )
    if harmless:
        names = [item.name for item in harmless]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        yield CHECK.note(f"dead weight on AMD: {shown}", f"{python} -m pip uninstall -y {' '.join(names)}")
    if not blamed and not harmless:
        yield CHECK.ok("no CUDA packages")


def _with_replacement(item: Distribution) -> str:
    instead = replacement(item.name)
    return f"{item.name} {item.version}" + (f" (instead: {instead})" if instead else "")
