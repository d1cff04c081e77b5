"""What a check is.

A check is a file in `checks/` named `kpNNN_name.py` with a page as its docstring (What, Why, Fix, Source), a
`CHECK`, and `check(machine)` that yields results. Adding one edits nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.doctor.machine import Machine

NOT_APPLICABLE = "not applicable: "


class Applies(Enum):
    """Where a check has anything to say."""

    EVERYWHERE = "everywhere"
    NOT_NVIDIA_ONLY = "everywhere but on a machine that computes on NVIDIA GPUs only"
    AMD = "where there is an AMD GPU or a ROCm torch"
    AMD_GPU = "where there is an AMD GPU"
    TORCH = "where torch is installed"
    TORCH_NOT_NVIDIA_ONLY = "where torch is installed, but not on a machine that computes on NVIDIA GPUs only"
    AMD_TORCH = "where torch is installed and there is an AMD GPU or a ROCm torch"

    def reason_not_to(self, machine: Machine) -> str:
        """Why a check with this scope does not apply here; empty if it does."""
        if self.value.startswith("where torch is installed") and machine.torch is None:
            return "torch is not installed"
        if self in (Applies.NOT_NVIDIA_ONLY, Applies.TORCH_NOT_NVIDIA_ONLY):
            return "this machine computes on NVIDIA GPUs" if machine.is_nvidia_only else ""
        if self is Applies.AMD_GPU:
            return "" if machine.has_amd_gpu and machine.is_amd else "no AMD GPU to compute on here"
        if self in (Applies.AMD, Applies.AMD_TORCH):
            return "" if machine.is_amd else "no AMD GPU and no ROCm torch here"
        return ""


@dataclass(frozen=True)
class Check:
    """The identity of a check. `name` says the pattern found, never the remedy."""

    code: str
    name: str
    area: str
    applies: Applies = Applies.EVERYWHERE

    def ok(self, detail: str) -> CheckResult:
        return CheckResult(self.name, Status.PASS, detail, self.code)

    def note(self, detail: str, *fix: str) -> CheckResult:
        return CheckResult(self.name, Status.INFO, detail, self.code, fix)

    def warn(self, detail: str, *fix: str) -> CheckResult:
        return CheckResult(self.name, Status.WARN, detail, self.code, fix)

    def red(self, detail: str, *fix: str) -> CheckResult:
        return CheckResult(self.name, Status.FAIL, detail, self.code, fix)

    def not_run(self, detail: str) -> CheckResult:
        return CheckResult(self.name, Status.NOT_RUN, detail, self.code)


def is_not_applicable(result: CheckResult) -> bool:
    return result.status is Status.NOT_RUN and result.detail.startswith(NOT_APPLICABLE)
