"""cuDNN's version compared with a number

What: `torch.backends.cudnn.version()` in a comparison, also through a variable.
Why: On ROCm it is MIOpen's version, which is numbered differently (3005000 is 3.5.0), so a test against cuDNN's
    numbers always passes. `cudnn.benchmark`, `deterministic` and `enabled` drive MIOpen and mean what they say; kpt
    leaves them alone.
Fix: Find out whether MIOpen has the feature that the number stands for. Mostly the answer is `not IS_ROCM and ...`.
Source: https://github.com/pytorch/pytorch/pull/33678 (how PyTorch makes MIOpen's number);
    https://github.com/pytorch/pytorch/pull/33118
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP594", "cudnn-version", ("python",), Safety.MANUAL, (b"cudnn",))

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Compare) or not any(isinstance(item, _ORDERS) for item in node.ops):
            continue
        compared = any(_is_version(module, item) for item in (node.left, *node.comparators))
        if compared and module.reached_on_rocm(node):
            message = "cudnn.version() is MIOpen's on ROCm: its numbers are not cuDNN's"
            yield RULE.finding(module.src, module.span(node), message)


def _is_version(module: PythonModule, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return module.qualified(node.func) == "torch.backends.cudnn.version"
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.Call) and _is_version(module, value) for value in bindings(module, node))
    return False
