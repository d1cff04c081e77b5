"""torch.version.cuda split into numbers

What: `torch.version.cuda.split(".")`, `Version(torch.version.cuda)`, `float(torch.version.cuda[:4])` and the like.
Why: `torch.version.cuda` is None on ROCm, so each of these raises an exception. Printing it only prints None, so kpt
    leaves that alone.
Fix: A test of CUDA's version is false on ROCm and is not evaluated there. kpt applies that where the test guards a
    block without an `else`, or an assertion, and offers it for review where the test chooses between two ways. It
    reports a version that is stored for later: `torch.version.hip` numbers another product and cannot replace it.
Source: https://github.com/deepspeedai/DeepSpeed/pull/6909;
    https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1599
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bound_once
from kernel_pytorch.port.python.edits import false_on_rocm, is_editable, true_on_rocm
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP580", "cuda-version-text", ("python",), Safety.SAFE, (b"version.cuda", b"import version"))

_NAME = "torch.version.cuda"
_PARSERS = frozenset({"Version", "parse", "LooseVersion", "StrictVersion", "float", "int", "tuple", "map"})


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Attribute) or module.qualified(node) != _NAME or not module.reached_on_rocm(node):
            continue
        if _breaks(module, node) and not _is_guarded(module, node):
            yield _finding(module, node)


def _finding(module: PythonModule, node: ast.Attribute) -> Finding:
    message = "torch.version.cuda is None on ROCm: this raises"
    compare = next((item for item in module.parents(node) if isinstance(item, ast.Compare)), None)
    if compare is None or not is_editable(module, compare):
        return RULE.finding(module.src, module.span(node), message)
    parent = next(module.parents(compare))
    if isinstance(parent, ast.Assert):
        return RULE.finding(module.src, module.span(node), message, [true_on_rocm(module, compare)])
    edit = false_on_rocm(module, compare)
    # A block that only a CUDA version asks for is not for ROCm; of two ways, which one is meant is not written down.
    plain = isinstance(parent, ast.If) and compare is parent.test and not parent.orelse
    return RULE.finding(module.src, module.span(node), message, [edit], Safety.SAFE if plain else Safety.REVIEW)


def _breaks(module: PythonModule, node: ast.Attribute) -> bool:
    """Whether the use fails for None: a method of it, an index, a parser's argument, an order."""
    parent = next(module.parents(node))
    if isinstance(parent, (ast.Attribute, ast.Subscript)):
        return parent.value is node
    if isinstance(parent, ast.Call) and node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        return name in _PARSERS
    if isinstance(parent, ast.Compare):
        return any(isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for operator in parent.ops)
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)


def _is_guarded(module: PythonModule, node: ast.AST) -> bool:
    """In a `try`, or under a test that mentions the version itself or a name that holds such a test."""
    child = node
    for parent in module.parents(node):
        if isinstance(parent, ast.Try) and child in parent.body:
            return True
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            for item in ast.walk(parent.test):
                value = bound_once(module, item) if isinstance(item, ast.Name) else item
                if isinstance(value, ast.Attribute) and module.qualified(value) == _NAME:
                    return True
        child = parent
    return False
