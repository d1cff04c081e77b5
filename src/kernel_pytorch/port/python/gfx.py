"""Names of AMD targets in Python source: where one comes from."""

from __future__ import annotations

import ast

from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.module import PythonModule


def is_arch_name(module: PythonModule, node: ast.expr) -> bool:
    """Whether an expression is a device's whole `gcnArchName`, by itself or through a variable."""
    if isinstance(node, ast.Attribute):
        return node.attr == "gcnArchName"
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.Attribute) and value.attr == "gcnArchName" for value in bindings(module, node))
    return False
