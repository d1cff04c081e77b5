"""torch.cuda.get_arch_list() read as sm_XX

What: A name of `torch.cuda.get_arch_list()` split at "_", sliced or turned into a number.
Why: ROCm returns gfx names ("gfx942"). They have no "_", so `split("_")[1]` raises IndexError. A test such as `"sm_90"
    in torch.cuda.get_arch_list()` is False, which is right, so kpt leaves it alone.
Fix: On ROCm the list is empty where the code only loops over it. Where the code wants its largest or last entry, a
    person decides what to use.
Source: pytorch/pytorch#147682
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP585", "arch-list", ("python",), Safety.SAFE, (b"get_arch_list",))

_NEEDS_ONE = frozenset({"max", "min"})


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls("torch.cuda.get_arch_list"):
        loop = next(module.parents(call))
        message = 'get_arch_list() holds gfx names on ROCm: there is no "sm_" to cut off'
        if isinstance(loop, ast.comprehension) and loop.iter is call:
            around = next(module.parents(loop))
            if isinstance(around, ast.expr) and _splits(around, loop.target):
                safe = is_editable(module, call) and not _needs_an_entry(module, around)
                edits = [choice(module, call, b"[]")] if safe else []
                yield RULE.finding(module.src, module.span(call), message, edits)
        elif isinstance(loop, ast.For) and loop.iter is call:
            if any(_splits(statement, loop.target) for statement in loop.body):
                edits = [choice(module, call, b"[]")] if is_editable(module, call) else []
                yield RULE.finding(module.src, module.span(call), message, edits)
        elif isinstance(loop, ast.Subscript) and isinstance(next(module.parents(loop)), (ast.Attribute, ast.Subscript)):
            yield RULE.finding(module.src, module.span(call), message)


def _splits(node: ast.AST, target: ast.expr) -> bool:
    """`x.split("_")[1]`, `int(x[3:])`: fails, or means nothing, for "gfx942"."""
    name = target.id if isinstance(target, ast.Name) else None
    for item in ast.walk(node):
        value = item.value if isinstance(item, (ast.Attribute, ast.Subscript)) else None
        is_cut = isinstance(item, ast.Subscript) or (isinstance(item, ast.Attribute) and item.attr in _CUTS)
        if is_cut and isinstance(value, ast.Name) and value.id == name:
            return True
    return False


_CUTS = frozenset({"split", "removeprefix", "replace", "lstrip", "strip", "partition"})


def _needs_an_entry(module: PythonModule, node: ast.expr) -> bool:
    parent = next(module.parents(node))
    if isinstance(parent, ast.Call):
        return getattr(parent.func, "id", "") in _NEEDS_ONE
    return isinstance(parent, ast.Subscript) and parent.value is node
