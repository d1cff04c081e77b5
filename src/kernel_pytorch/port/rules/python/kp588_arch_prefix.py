"""A family of GPUs recognised by the beginning of its target

What: `"gfx12" in arch`, `arch.startswith("gfx12")`, and regular expressions such as `gfx(\\d+)`.
Why: gfx1250 begins like RDNA4's gfx1200 and gfx1201 but is a CDNA-class GPU. rocminfo also prints "gfx12-generic", and
    `gfx\\d+` makes "gfx90" of "gfx90a".
Fix: For gfx12 kpt writes the two RDNA4 targets by name, for review. A regular expression needs `gfx[0-9a-f]+`. Code
    that reads the digits as a number is left to you.
Source: https://github.com/amd/Quark/pull/32; https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.core.hardware import targets
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.gfx import is_arch_name
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP588", "arch-prefix", ("python",), Safety.REVIEW, (b"gfx",))

_SEARCHES = ("compile", "search", "match", "findall", "finditer", "fullmatch", "split", "sub")
_DIGITS_ONLY = (r"gfx(\d+)", r"gfx\d+", "gfx([0-9]+)", "gfx[0-9]+")


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        name = _tested_for_gfx12(module, node)
        if name is not None and isinstance(node, ast.expr) and module.reached_on_rocm(node):
            message = "gfx1250 also begins with gfx12, but is not an RDNA4 GPU"
            exact = module.text(name) + b'.split(":")[0] in ' + _rdna4()
            edits: list[Edit] = [choice(module, node, exact)] if is_editable(module, node) else []
            yield RULE.finding(module.src, module.span(node), message, edits)
    yield from _patterns(module)


def _rdna4() -> bytes:
    """The targets of RDNA4 as a Python tuple."""
    names = (f'"{row.name}"' for row in targets("amd") if row.arch == "RDNA4")
    return f"({', '.join(names)})".encode()


def _tested_for_gfx12(module: PythonModule, node: ast.AST) -> ast.expr | None:
    """The arch name that a node asks for "gfx12"."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
        right = node.comparators[0]
        return right if constant(node.left) == "gfx12" and is_arch_name(module, right) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
        first = constant(node.args[0]) if node.args else None
        return node.func.value if first == "gfx12" and is_arch_name(module, node.func.value) else None
    return None


def _patterns(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls(*(f"re.{name}" for name in _SEARCHES)):
        pattern = constant(call.args[0]) if call.args else None
        if isinstance(pattern, str) and any(pattern.endswith(item) or item + r"\b" in pattern for item in _DIGITS_ONLY):
            yield RULE.finding(module.src, module.span(call), 'the pattern makes "gfx90" of "gfx90a"')
