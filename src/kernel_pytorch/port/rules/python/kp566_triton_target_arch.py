"""The architecture of Triton's target read as a number

What: `triton.runtime.driver.active.get_current_target().arch >= 80`, also through a variable.
Why: On HIP `arch` is a string ("gfx942"). An order raises TypeError, and an equality is never true.
Fix: A test for a later NVIDIA architecture is false on ROCm and is not evaluated there; one for an earlier one is
    true. Arithmetic with it is left to you.
Source: third_party/amd/backend/compiler.py in triton-lang/triton; checked against Triton 3.9.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.edits import false_on_rocm, is_editable, true_on_rocm
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP566", "triton-target-arch", ("python",), Safety.SAFE, (b"get_current_target",))


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, (ast.Compare, ast.BinOp)) or not module.reached_on_rocm(node):
            continue
        if isinstance(node, ast.BinOp):
            if _is_arch(module, node.left) or _is_arch(module, node.right):
                yield RULE.finding(module.src, module.span(node), 'the target\'s arch is "gfx942" on HIP: no number')
            continue
        number = constant(node.comparators[0])
        if len(node.ops) != 1 or not _is_arch(module, node.left) or not isinstance(number, int):
            continue
        earlier = isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.NotEq))
        edits = []
        if is_editable(module, node):
            edits.append((true_on_rocm if earlier else false_on_rocm)(module, node))
        message = 'the target\'s arch is "gfx942" on HIP, not a number'
        yield RULE.finding(module.src, module.span(node), message, edits)


def _is_arch(module: PythonModule, node: ast.expr, depth: int = 0) -> bool:
    """`<target>.arch`, where the target is Triton's current one."""
    if isinstance(node, ast.Name) and depth < 3:
        return any(value is not None and _is_arch(module, value, depth + 1) for value in bindings(module, node))
    return isinstance(node, ast.Attribute) and node.attr == "arch" and _is_target(module, node.value)


def _is_target(module: PythonModule, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.Call) and _is_target(module, value) for value in bindings(module, node))
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_current_target"
    )
