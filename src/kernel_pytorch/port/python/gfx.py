"""Names of AMD targets in Python source: where one comes from."""

from __future__ import annotations

import ast

from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule


def is_arch_name(module: PythonModule, node: ast.expr) -> bool:
    """Whether an expression is a device's whole `gcnArchName`, by itself or through names and functions."""
    if not isinstance(node, (ast.Attribute, ast.Name, ast.Call)):
        return False
    return any(_is_name(place.node) for place in origins(module, node))


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "gcnArchName"
    is_lookup = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"
    key = node.args[1] if is_lookup and isinstance(node, ast.Call) and len(node.args) > 1 else None
    return isinstance(key, ast.Constant) and key.value == "gcnArchName"
