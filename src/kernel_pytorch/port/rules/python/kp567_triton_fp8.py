"""tl.float8e4nv

What: Triton's name of e4m3fn, on the host or in a kernel.
Why: MI300 (gfx94x) computes in e4m3fnuz, which is `tl.float8e4b8`. Triton emulates e4nv there through fp16, slowly,
    and older Triton refuses it. gfx950 and gfx12 have e4nv.
Fix: On the host, inside a function, `tl.float8e4b8` on gfx94x, for review together with the tensors' type (KP541). In
    a kernel the type must come in as a `tl.constexpr`.
Source: https://github.com/triton-lang/triton/pull/7186
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import is_editable
from kernel_pytorch.port.python.fp8 import IS_FNUZ_GPU, is_deferred
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP567", "triton-fp8", ("python",), Safety.REVIEW, (b"float8e4nv",))

_NAME = "triton.language.float8e4nv"


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Attribute) or module.qualified(node) != _NAME or not module.reached_on_rocm(node):
            continue
        if _knows_amd(module, node):
            continue
        edits = []
        if is_editable(module, node) and is_deferred(module, node) and not _is_key(module, node):
            amd = module.text(node).replace(b"float8e4nv", b"float8e4b8")
            text = b"(" + amd + b" if " + IS_FNUZ_GPU + b" else " + module.text(node) + b")"
            edits.append(Edit(module.span(node), text))
        message = "float8e4nv is emulated on MI300 (gfx94x), whose own type is float8e4b8"
        yield RULE.finding(module.src, module.span(node), message, edits)


def _knows_amd(module: PythonModule, node: ast.expr) -> bool:
    statement = next(item for item in module.parents(node) if isinstance(item, ast.stmt))
    return not isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and b"float8e4b8" in module.text(statement)


def _is_key(module: PythonModule, node: ast.expr) -> bool:
    parent = next(module.parents(node))
    return isinstance(parent, ast.Compare) or (isinstance(parent, ast.Dict) and node in parent.keys)
