"""NVIDIA's executors named for lightning-thunder

What: `executors=("sdpa", "nvfuser", "torch")` and the like: a list for `thunder.jit`, as an argument, a default or a
    variable called executors, with "nvfuser", "cudnn", "apex", "transformer_engine" or "fa3" in it.
Why: Those executors are not registered without NVIDIA's libraries, and thunder raises ValueError for a name that is
    not registered.
Fix: The list without them on ROCm; "torchcompile" and "torch" do the work there.
Source: thunder/extend/__init__.py in Lightning-AI/lightning-thunder (resolve_executors)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

NVIDIA_ONLY = frozenset({"nvfuser", "cudnn", "cudnn_layernorm", "apex", "transformer_engine", "fa3"})
RULE = Rule("KP606", "thunder-executors", ("python",), Safety.SAFE, (b"executors",))


def check(module: PythonModule) -> Iterator[Finding]:
    if b"thunder" not in module.src.data:
        return
    for listed in _lists(module):
        names = [item.value for item in listed.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        absent = [name for name in names if name in NVIDIA_ONLY]
        if not absent or not module.reached_on_rocm(listed):
            continue
        left = [module.text(item) for item in listed.elts if not _is_absent(item)]
        whole = isinstance(listed, ast.Tuple) and len(left) == 1
        inner = b", ".join(left) + (b"," if whole else b"")
        text = b"[" + inner + b"]" if isinstance(listed, ast.List) else b"(" + inner + b")"
        edits = [choice(module, listed, text)] if is_editable(module, listed) else []
        message = f"thunder has no {', '.join(absent)} executor without NVIDIA's libraries, and raises ValueError"
        yield RULE.finding(module.src, module.span(listed), message, edits)


def _is_absent(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value in NVIDIA_ONLY


def _lists(module: PythonModule) -> Iterator[ast.List | ast.Tuple]:
    """Literal lists under the name executors: a keyword, a default, a variable."""
    for node in all_nodes(module):
        given: list[ast.expr | None] = []
        if isinstance(node, ast.keyword) and node.arg == "executors":
            given = [node.value]
        elif isinstance(node, ast.Assign):
            given = [node.value for target in node.targets if _last(target) == "executors"]
        elif isinstance(node, ast.AnnAssign):
            given = [node.value] if _last(node.target) == "executors" else []
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            pairs = [*zip(reversed(positional), reversed(node.defaults), strict=False)]
            given = [value for one, value in pairs if one.arg == "executors"]
            given += [
                value for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if one.arg == "executors"
            ]
        yield from (value for value in given if isinstance(value, (ast.List, ast.Tuple)))


def _last(target: ast.expr) -> str:
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""
