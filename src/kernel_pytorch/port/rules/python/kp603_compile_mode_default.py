"""A compile mode that is handed to a library

What: `torch_compile_mode="reduce-overhead"` (transformers), `CompileConfig(mode=...)`, or a keyword or field called
    `compile_mode` with a mode that captures graphs.
Why: The call of torch.compile is elsewhere, in a library or another file. KP601 says what the mode does on ROCm.
Fix: The gate chooses the mode. kpt applies it for transformers, whose meaning is documented, and offers it for review
    where only the name suggests it.
Source: pytorch/pytorch#187715; transformers' documentation of TrainingArguments (torch_compile_mode).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.compile_modes import capturing, gated_mode, what_it_does
from kernel_pytorch.port.python.edits import is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP603", "compile-mode-default", ("python",), Safety.SAFE, (b"reduce-overhead", b"max-autotune"))

_NAME = re.compile(r"(\w+_)?compile_mode|mode_compile", re.IGNORECASE)


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        for value, safety in _values(module, node):
            for mode in capturing(module, value):
                if is_editable(module, mode):
                    message = f'compile mode "{mode.value!s}" is passed on: it {what_it_does(mode)}'
                    yield RULE.finding(module.src, module.span(mode), message, [gated_mode(module, mode)], safety)


def _values(module: PythonModule, node: ast.AST) -> Iterator[tuple[ast.expr, Safety]]:
    if isinstance(node, ast.Call):
        name = module.qualified(node.func) or ""
        is_transformers = name.startswith("transformers.")
        for keyword in node.keywords:
            if is_transformers and (keyword.arg == "torch_compile_mode" or name.endswith(".CompileConfig")):
                yield keyword.value, Safety.SAFE
            elif keyword.arg is not None and _NAME.fullmatch(keyword.arg):
                yield keyword.value, Safety.REVIEW
    elif isinstance(node, ast.ClassDef):
        for statement in node.body:
            target = statement.target if isinstance(statement, ast.AnnAssign) else None
            value = statement.value if isinstance(statement, ast.AnnAssign) else None
            if value is not None and isinstance(target, ast.Name) and _NAME.fullmatch(target.id):
                yield value, Safety.REVIEW
