"""A device called "rocm" or "hip"

What: `torch.device("rocm")`, `.to("hip")`, `device="hip:0"`.
Why: ROCm devices are called "cuda" in PyTorch. "rocm" is no device type at all, and "hip" has no kernels behind it.
Fix: "cuda" on ROCm. Code that says "cuda" already is right, and is left alone.
Source: catalogue row 94, https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP583", "rocm-device", ("python",), Safety.SAFE, (b"rocm", b"hip"))

_NAME = re.compile(r"(?:rocm|hip)(:\d+)?")


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Call):
            continue
        for argument in _device_arguments(module, node):
            match = _NAME.fullmatch(argument.value) if isinstance(argument.value, str) else None
            if match is None or not is_editable(module, argument):
                continue
            message = f'no device is called "{argument.value!s}": ROCm devices are "cuda"'
            edit = choice(module, argument, f'"cuda{match.group(1) or ""}"'.encode())
            yield RULE.finding(module.src, module.span(argument), message, [edit])


def _device_arguments(module: PythonModule, call: ast.Call) -> Iterator[ast.Constant]:
    name = module.qualified(call.func) or ""
    is_torch = name.startswith("torch.")
    # `.to(...)` of an object that is not imported is a tensor's or a module's.
    is_to = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and not name
    if name == "torch.device" or is_to:
        yield from (item for item in call.args[:1] if isinstance(item, ast.Constant))
    if is_torch or is_to:
        yield from (
            item.value for item in call.keywords if item.arg == "device" and isinstance(item.value, ast.Constant)
        )
