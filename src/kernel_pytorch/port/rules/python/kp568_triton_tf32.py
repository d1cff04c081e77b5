"""TF32 asked for by name in a Triton kernel

What: `tl.dot(..., input_precision="tf32")` or "tf32x3", in a kernel or through a module's `tl.constexpr`.
Why: AMD's back end takes "tf32" on gfx942 only (where it is XF32) and "tf32x3" nowhere. It stops with "input_precision
    must be one of ...". kpt leaves `allow_tf32=True` alone: it asks for TF32 where there is one, and is the default.
Fix: kpt makes a `tl.constexpr` of the module "ieee" on ROCm. A literal inside a kernel is left to you: make it such a
    constant, or leave the argument out.
Source: third_party/amd/backend/compiler.py in triton-lang/triton; checked against Triton 3.9.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP568", "triton-tf32", ("python",), Safety.SAFE, (b"input_precision",))

_NAMES = ("tf32", "tf32x3")


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    for call in module.calls("triton.language.dot", "triton.language.core.dot"):
        precision = next((item.value for item in call.keywords if item.arg == "input_precision"), None)
        for node in _literals(module, precision):
            if id(node) in seen or not module.reached_on_rocm(node) or _is_asked_for(module, node):
                continue
            seen.add(id(node))
            edits = [choice(module, node, b'"ieee"')] if is_editable(module, node) else []
            where = "only gfx942 takes" if node.value == "tf32" else "no AMD GPU takes"
            yield RULE.finding(module.src, module.span(node), f'{where} input_precision="{node.value!s}"', edits)


def _literals(module: PythonModule, node: ast.expr | None) -> Iterator[ast.Constant]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and constant(node) in _NAMES:
        yield node
    elif isinstance(node, ast.IfExp):
        yield from _literals(module, node.body)
        yield from _literals(module, node.orelse)
    elif isinstance(node, ast.Name):
        for value in bindings(module, node):
            is_constexpr = isinstance(value, ast.Call) and module.qualified(value.func) == "triton.language.constexpr"
            if is_constexpr and isinstance(value, ast.Call) and value.args:
                yield from _literals(module, value.args[0])
            elif isinstance(value, ast.Constant):
                yield from _literals(module, value)


def _is_asked_for(module: PythonModule, node: ast.AST) -> bool:
    """Under a test that speaks of TF32: the file asks whether there is one."""
    return any(
        isinstance(parent, (ast.If, ast.IfExp)) and "tf32" in ast.unparse(parent.test).lower()
        for parent in module.parents(node)
    )
