"""CUTLASS among Inductor's GEMM back ends

What: `max_autotune_gemm_backends` with CUTLASS in it, in Inductor's config, torch.compile's `options` or
    TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS.
Why: There is no CUTLASS on ROCm. The choice is refused or, alone, leaves no kernel to choose.
Fix: On ROCm kpt leaves it out of the list. If nothing is left, the list is "ATEN,TRITON".
Source: https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py (max_autotune_gemm_backends);
    https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html (the back ends on ROCm)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.inductor import inductor_values
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant, environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP622", "gemm-backends", ("python",), Safety.SAFE, (b"CUTLASS", b"cutlass"))

_VARIABLE = "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS"


def check(module: PythonModule) -> Iterator[Finding]:
    for value in _lists(module):
        text = constant(value)
        if not isinstance(text, str) or "CUTLASS" not in text.upper() or not module.reached_on_rocm(value):
            continue
        left = [item.strip() for item in text.split(",") if item.strip().upper() not in ("CUTLASS", "")]
        if is_editable(module, value):
            edit = choice(module, value, f'"{",".join(left) or "ATEN,TRITON"}"'.encode())
            yield RULE.finding(module.src, module.span(value), "ROCm has no CUTLASS back end", [edit])


def _lists(module: PythonModule) -> Iterator[ast.expr]:
    for _, value in inductor_values(module, "max_autotune_gemm_backends"):
        yield value
    for setting in environment_settings(module):
        if setting.name == _VARIABLE and setting.value is not None:
            yield setting.value
