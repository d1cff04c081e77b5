"""gcnArchName compared with a bare target

What: `gcnArchName == "gfx942"`, either way round, `gcnArchName in ("gfx90a", "gfx942")`, also through a variable, a
    field or a function of the project.
Why: The value carries the target's features: "gfx942:sramecc+:xnack-". The comparison is never true.
Fix: On ROCm the part before the first ":" is compared.
Source: https://github.com/pytorch/pytorch/pull/148945
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.gfx import is_arch_name
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP587", "arch-name-equals", ("python",), Safety.SAFE, (b"gcnArchName",))

_TARGET = re.compile(r"gfx[0-9a-f]{3,4}")


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        name, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and _is_target(name):
            name, right = right, name  # `"gfx942" == props.gcnArchName`
        if not is_arch_name(module, name):
            continue
        is_equality = isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and _is_target(right)
        elements = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else []
        is_member = isinstance(node.ops[0], (ast.In, ast.NotIn)) and bool(elements) and all(map(_is_target, elements))
        if (is_equality or is_member) and module.reached_on_rocm(node):
            message = 'gcnArchName carries features ("gfx942:sramecc+:xnack-"): it never equals a bare target'
            bare = module.text(name) + b'.split(":")[0]'
            edits = [choice(module, name, bare)] if is_editable(module, node) else []
            yield RULE.finding(module.src, module.span(node), message, edits)


def _is_target(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_TARGET.fullmatch(node.value))
