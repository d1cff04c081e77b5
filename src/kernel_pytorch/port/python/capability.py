"""Compute capability in Python source: which expressions are one, and what a comparison of one means on AMD."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.per_module import per_module

QUERY = "torch.cuda.get_device_capability"
PROPERTIES = "torch.cuda.get_device_properties"

# AMD reports the leading digits of its target: gfx906 and gfx90a are (9, 0), gfx942 (9, 4), gfx1100 (11, 0).
SMALLEST_AMD = (9, 0)
AMPERE = (8, 0)
FP8 = (8, 9)


@dataclass(frozen=True)
class CapabilityTest:
    """A comparison of a capability. `amd_says`: its outcome on an AMD GPU is right as it is, or not ("misleads")."""

    node: ast.Compare
    shown: str
    feature_absent: bool  # what the comparison should come to where NVIDIA's feature is absent
    is_fp8: bool
    misleads: bool


def is_capability(module: PythonModule, node: ast.expr, depth: int = 0) -> str | None:
    """ "pair" or "major", for an expression that is a capability or its first number; None for anything else."""
    if isinstance(node, ast.Call):
        return "pair" if module.qualified(node.func) == QUERY else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
        return "major" if is_capability(module, node.value, depth) == "pair" else None
    if isinstance(node, ast.Attribute) and node.attr == "major":
        return "major" if _is_properties(module, node.value) else None
    if isinstance(node, ast.Name) and depth < 3:
        kinds = {is_capability(module, value, depth + 1) for value in bindings(module, node) if value is not None}
        if len(kinds) == 1 and None not in kinds:
            return kinds.pop()
        return "major" if _unpacked_first(module, node) else None
    return None


def _is_properties(module: PythonModule, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.Call) and _is_properties(module, value) for value in bindings(module, node))
    return isinstance(node, ast.Call) and module.qualified(node.func) == PROPERTIES


def _unpacked_first(module: PythonModule, name: ast.Name) -> bool:
    """`major, minor = torch.cuda.get_device_capability()`."""
    scope = module.scope(name)
    while name.id not in scope.others and scope.parent is not None:
        scope = scope.parent
    return (scope.node, name.id) in _first_names(module)


@per_module
def _first_names(module: PythonModule) -> frozenset[tuple[ast.AST, str]]:
    found = set()
    for node in nodes_of(module, ast.Assign):
        target = node.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
        call = node.value if isinstance(node.value, ast.Call) else None
        if isinstance(first, ast.Name) and call is not None and module.qualified(call.func) == QUERY:
            found.add((module.scope(node).node, first.id))
    return frozenset(found)


def capability_tests(module: PythonModule) -> Iterator[CapabilityTest]:
    """Comparisons of a capability with numbers written down, wherever ROCm gets to."""
    for node in nodes_of(module, ast.Compare):
        kind = is_capability(module, node.left) if len(node.ops) == 1 else None
        test = _judged(node, kind) if kind is not None and module.reached_on_rocm(node) else None
        if test is not None:
            yield test


def _judged(node: ast.Compare, kind: str) -> CapabilityTest | None:
    operator, right = node.ops[0], node.comparators[0]
    if isinstance(operator, (ast.In, ast.NotIn)):
        items = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else []
        numbers = [_number(item, kind) for item in items]
        known = [number for number in numbers if number is not None]
        if not known or len(known) < len(numbers):
            return None
        misleads = max(known) >= SMALLEST_AMD
        return CapabilityTest(node, ast.unparse(node), isinstance(operator, ast.NotIn), False, misleads)
    number = _number(right, kind)
    if number is None:
        return None
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        misleads = number >= SMALLEST_AMD
        return CapabilityTest(node, ast.unparse(node), isinstance(operator, ast.NotEq), False, misleads)
    if isinstance(operator, (ast.Gt, ast.LtE)):
        number = (number[0] + 1, 0) if kind == "major" else (number[0], number[1] + 1)
    # Ampere's features (bf16, asynchronous work) are there on every AMD GPU that PyTorch supports; later ones are not.
    absent = isinstance(operator, (ast.Lt, ast.LtE))
    return CapabilityTest(node, ast.unparse(node), absent, number == FP8, number > AMPERE)


def _number(node: ast.expr, kind: str) -> tuple[int, int] | None:
    if kind == "major":
        value = node.value if isinstance(node, ast.Constant) else None
        return (value, 0) if isinstance(value, int) else None
    if isinstance(node, (ast.Tuple, ast.List)) and 1 <= len(node.elts) <= 2:
        values = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, int)]
        if len(values) == len(node.elts):
            return (values[0], values[1] if len(values) == 2 else 0)
    return None
