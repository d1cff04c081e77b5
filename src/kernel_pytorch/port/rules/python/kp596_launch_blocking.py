"""CUDA_LAUNCH_BLOCKING set in code

What: `os.environ["CUDA_LAUNCH_BLOCKING"] = "1"`.
Why: The switch is CUDA's. HIP waits after every launch with HIP_LAUNCH_BLOCKING, or AMD_SERIALIZE_KERNEL=3.
Fix: On ROCm HIP_LAUNCH_BLOCKING gets the same value beside it. The change is for review: it is a debugging aid, and
    it is slow.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html (debug variables);
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import rocm_only_behind
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant, environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP596", "launch-blocking", ("python",), Safety.REVIEW, (b"CUDA_LAUNCH_BLOCKING",))

BESIDE = b'os.environ["HIP_LAUNCH_BLOCKING"] = os.environ["CUDA_LAUNCH_BLOCKING"]'


def check(module: PythonModule) -> Iterator[Finding]:
    if b"HIP_LAUNCH_BLOCKING" in module.src.data or b"AMD_SERIALIZE_KERNEL" in module.src.data:
        return
    for setting in environment_settings(module):
        if setting.name == "CUDA_LAUNCH_BLOCKING" and constant(setting.value) != "0":
            edit = rocm_only_behind(module, setting.statement, [BESIDE]) if b"os.environ" in module.src.data else None
            message = "CUDA_LAUNCH_BLOCKING does not make HIP wait"
            yield RULE.finding(module.src, module.span(setting.statement), message, [edit] if edit else [])
