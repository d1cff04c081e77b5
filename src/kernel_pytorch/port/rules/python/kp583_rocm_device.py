"""A device called "rocm" or "hip"

What: `torch.device("rocm")`, `.to("hip")`, `device="hip:0"`, also through a variable, a default or a helper.
Why: PyTorch calls ROCm devices "cuda". "rocm" is not a device type, and "hip" has no kernels behind it.
Fix: kpt writes "cuda" on ROCm. Code that says "cuda" is already right, so kpt leaves it alone.
Source: https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP583", "rocm-device", ("python",), Safety.SAFE, (b"rocm", b"hip"))

_NAME = re.compile(r"(?:rocm|hip)(:\d+)?")


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    for call in nodes_of(module, ast.Call):
        for argument in _device_arguments(module, call):
            for place in origins(module, argument):
                node = place.node
                text = node.value if place.module is module and isinstance(node, ast.Constant) else None
                match = _NAME.fullmatch(text) if isinstance(text, str) else None
                if match is None or id(node) in seen or not is_editable(module, node):
                    continue
                seen.add(id(node))
                message = f'no device is called "{text!s}": ROCm devices are "cuda"'
                edit = choice(module, node, f'"cuda{match.group(1) or ""}"'.encode())
                yield RULE.finding(module.src, module.span(node), message, [edit])


def _device_arguments(module: PythonModule, call: ast.Call) -> Iterator[ast.expr]:
    name = module.qualified(call.func) or ""
    is_torch = name.startswith("torch.")
    # `.to(...)` of an object that is not imported is a tensor's or a module's.
    is_to = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and not name
    given = list(call.args[:1]) if name == "torch.device" or is_to else []
    if is_torch or is_to:
        given += [item.value for item in call.keywords if item.arg == "device"]
    yield from (item for item in given if isinstance(item, (ast.Constant, ast.Name, ast.Attribute, ast.IfExp)))
