"""max_split_size_mb in the allocator's settings

What: Code that sets `PYTORCH_CUDA_ALLOC_CONF` (or PYTORCH_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF) with max_split_size_mb.
Why: A public porting guide says that HIP's allocator rejects the key. Current PyTorch lists it for every device and
    accepts it. What does hurt on ROCm is the key together with expandable_segments: from PyTorch 2.12 reserved memory
    then grows until the GPU is full.
Fix: On ROCm kpt leaves that key out of the setting, or the whole setting if nothing else is in it.
Source: https://github.com/pytorch/pytorch/blob/main/c10/core/AllocatorConfig.h; pytorch/pytorch#123548;
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 5 (the rejection).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import choice, gated_statement, is_chosen, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import Setting, constant, environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP592", "max-split-size", ("python",), Safety.SAFE, (b"max_split_size_mb",))

VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
_KEY = "max_split_size_mb"


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in environment_settings(module):
        if setting.name not in VARIABLES or setting.value is None or is_chosen(module, setting.value):
            continue
        if _KEY in ast.unparse(setting.value):
            yield _finding(module, setting)
    for call in module.calls("torch.cuda.memory._set_allocator_settings", "torch._C._accelerator_setAllocatorSettings"):
        argument = call.args[0] if call.args else None
        value = constant(argument)
        if argument is not None and isinstance(value, str) and _KEY in value:
            edit = choice(module, argument, repr(without_key(value, _KEY)).replace("'", '"').encode())
            yield RULE.finding(
                module.src, module.span(call), _message(value), [edit] if is_editable(module, call) else []
            )


def _finding(module: PythonModule, setting: Setting) -> Finding:
    value = constant(setting.value)
    edit: Edit | None = None
    if isinstance(value, str) and setting.value is not None and is_editable(module, setting.value):
        left = without_key(value, _KEY)
        if left:
            edit = choice(module, setting.value, f'"{left}"'.encode())
        elif setting.is_assignment:
            edit = gated_statement(module, setting.statement)
    elif setting.is_assignment:
        edit = gated_statement(module, setting.statement)
    node = setting.value if setting.value is not None else setting.statement
    return RULE.finding(module.src, module.span(node), _message(value), [edit] if edit else [])


def _message(value: object) -> str:
    both = isinstance(value, str) and "expandable_segments:True" in value
    return f"{_KEY} hurts on ROCm" + (" together with expandable_segments" if both else "")


def without_key(value: str, key: str) -> str:
    """The setting without one key. A roundup list in brackets holds commas of its own."""
    parts: list[str] = []
    depth = 0
    for piece in value.split(","):
        if depth:
            parts[-1] += "," + piece
        else:
            parts.append(piece)
        depth += piece.count("[") - piece.count("]")
    return ",".join(part.strip() for part in parts if part.strip() and part.split(":")[0].strip() != key)
