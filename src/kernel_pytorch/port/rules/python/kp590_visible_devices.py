"""CUDA_VISIBLE_DEVICES set in code

What: `os.environ["CUDA_VISIBLE_DEVICES"] = ...`.
Why: ROCm reads it today, after HIP_VISIBLE_DEVICES. Where both are set and differ, Ray raises and HIP takes its own;
    vLLM has deprecated it on ROCm.
Fix: HIP_VISIBLE_DEVICES gets the same value beside it, on ROCm. For review: a launcher may set it already.
Source: catalogue row 104, https://github.com/ray-project/ray/issues/52701
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import rocm_only_behind
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP590", "visible-devices", ("python",), Safety.REVIEW, (b"CUDA_VISIBLE_DEVICES",))

BESIDE = b'os.environ["HIP_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]'


def check(module: PythonModule) -> Iterator[Finding]:
    if b"HIP_VISIBLE_DEVICES" in module.src.data:
        return  # its writer has thought of AMD; a second opinion would be the second list
    for setting in environment_settings(module):
        if setting.name != "CUDA_VISIBLE_DEVICES":
            continue
        edit = rocm_only_behind(module, setting.statement, [BESIDE]) if _names_os(module) else None
        message = "CUDA_VISIBLE_DEVICES without HIP_VISIBLE_DEVICES: they must not differ on ROCm"
        yield RULE.finding(module.src, module.span(setting.statement), message, [edit] if edit else [])


def _names_os(module: PythonModule) -> bool:
    return b"os.environ" in module.src.data
