"""Whether a place in a file is reached on ROCm: what already stands behind a gate is not rewritten again.

This is the rewriter's own reading of gates. The isolation check has another, on purpose: a mistake here must not be
able to hide there.
"""

from __future__ import annotations

import ast
import re

GATE_NAME = re.compile(
    r"^_*(is|on|use|using|has)_?(rocm|hip|amd)(_available|_build|_gpu|_platform|_torch|_pytorch)?_*$", re.IGNORECASE
)
NVIDIA_NAME = re.compile(r"^_*(is|on)_?nvidia\w*$", re.IGNORECASE)


def rocm_value(test: ast.expr) -> bool | None:
    """What a condition is on ROCm: True, False, or None where it says nothing about ROCm."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = rocm_value(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return both_ways([rocm_value(item) for item in test.values], isinstance(test.op, ast.Or))
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compare(test)
    if isinstance(test, ast.Call):
        if isinstance(test.func, ast.Name) and test.func.id in ("bool", "getattr") and test.args:
            return rocm_value(test.args[0]) if test.func.id == "bool" else _is_hip_lookup(test) or None
        return rocm_value(test.func)
    if _last_name(test) == "hip" and ast.unparse(test).endswith("version.hip"):
        return True
    if _last_name(test) == "cuda" and ast.unparse(test).endswith("version.cuda"):
        return False
    if NVIDIA_NAME.match(_last_name(test)):
        return False
    return True if GATE_NAME.match(_last_name(test)) else None


def both_ways(values: list[bool | None], is_or: bool) -> bool | None:
    """What `and` or `or` of parts comes to, some of which say nothing about ROCm."""
    if any(value is is_or for value in values):
        return is_or
    known = [value for value in values if value is not None]
    return known[0] if len(known) == len(values) else None


def _compare(test: ast.Compare) -> bool | None:
    right = test.comparators[0]
    if not (isinstance(right, ast.Constant) and right.value is None):
        return None
    value = rocm_value(test.left)
    if value is None:
        return None
    is_negated = isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
    return value if is_negated else not value


def _is_hip_lookup(call: ast.Call) -> bool:
    key = call.args[1] if len(call.args) > 1 else None
    return isinstance(key, ast.Constant) and key.value == "hip" and ast.unparse(call.args[0]).endswith("version")


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
