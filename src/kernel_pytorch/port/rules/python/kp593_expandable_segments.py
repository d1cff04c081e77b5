"""expandable_segments in the allocator's settings

What: Code that sets `PYTORCH_CUDA_ALLOC_CONF` (or its newer names) with expandable_segments:True.
Why: Porting guides call it a safe setting for ROCm. PyTorch implements it on ROCm only from about 2.11 with ROCm 7.0;
    before that it is ignored with a warning. An open report describes a hang with it.
Fix: On ROCm kpt writes the setting without that key, for review: on a new enough build you may want it.
Source: https://github.com/pytorch/pytorch/pull/177974; https://github.com/ROCm/pytorch/pull/3106;
    pytorch/pytorch#192259 (the hang, open)
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, gated_statement, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant, environment_settings
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.rules.python.kp592_max_split_size import VARIABLES, without_key

RULE = Rule("KP593", "expandable-segments", ("python",), Safety.REVIEW, (b"expandable_segments",))


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in environment_settings(module):
        value = constant(setting.value)
        if setting.name not in VARIABLES or not isinstance(value, str) or setting.value is None:
            continue
        if "expandable_segments:true" not in value.lower().replace(" ", "") or not module.reached_on_rocm(
            setting.value
        ):
            continue
        left = without_key(without_key(value, "expandable_segments"), "max_split_size_mb")
        edit = None
        if left and is_editable(module, setting.value):
            edit = choice(module, setting.value, f'"{left}"'.encode())
        elif setting.is_assignment and not left:
            edit = gated_statement(module, setting.statement)
        message = "expandable_segments needs ROCm 7.0 and a torch of about 2.11: ignored before, an open hang since"
        yield RULE.finding(module.src, module.span(setting.value), message, [edit] if edit else [])
