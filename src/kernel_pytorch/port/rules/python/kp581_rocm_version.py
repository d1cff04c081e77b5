"""torch.version.rocm

What: `torch.version.rocm`, or `getattr(torch.version, "rocm", ...)`.
Why: the attribute is missing in many builds and None in others; `torch.version.hip` is what every ROCm build sets.
Fix: `torch.version.hip` on ROCm.
Source: catalogue row 92, https://github.com/vladmandic/sdnext/issues/1157
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP581", "rocm-version", ("python",), Safety.SAFE, (b"rocm",))


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.expr) or not _reads_rocm(module, node) or _is_chosen(module, node):
            continue
        message = "torch.version.rocm is missing in many builds: torch.version.hip is always there"
        edits = [choice(module, node, b"torch.version.hip")] if is_editable(module, node) else []
        yield RULE.finding(module.src, module.span(node), message, edits)


def _reads_rocm(module: PythonModule, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and module.qualified(node) == "torch.version.rocm"
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "getattr" or len(node.args) < 2:
        return False
    return module.qualified(node.args[0]) == "torch.version" and constant(node.args[1]) == "rocm"


def _is_chosen(module: PythonModule, node: ast.expr) -> bool:
    """Behind a test for the attribute, or beside `hip`, or not reached on ROCm."""
    if not module.reached_on_rocm(node):
        return True
    for parent in module.parents(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and '"rocm"' in ast.unparse(parent.test).replace("'", '"'):
            return True
        if isinstance(parent, ast.BoolOp) and "version.hip" in ast.unparse(parent):
            return True
    return False
