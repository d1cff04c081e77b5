"""A graph captured by hand

What: `with torch.cuda.graph(g): ...`, and `torch.cuda.make_graphed_callables`.
Why: capture works on ROCm, but HIP does not report everything that a graph cannot hold: a call that is illegal during
    capture, or a pointer that has moved, shows as wrong numbers at replay and not as an error.
Fix: where the block is `out = f(x)`, a check behind it, on ROCm only: the first replay must give what the same call
    gives without the graph. For review: the call runs once more, which matters if it keeps state or drops at random.
    Where an argument is a cache or a state, and elsewhere, a person adds it: `port/templates/rocm_graph_check.py` of
    kernel_pytorch is a file to copy, which also changes the inputs between capture and replay. Warm up with the same
    shapes on a side stream first, and capture under `torch.compiler.set_stance("fail_on_recompile")`: see KP704.
Source: seed 000 phase 7, seed 004, catalogue row 141, https://github.com/ROCm/hip/issues/3887
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.cuda.unit import Unit
from kernel_pytorch.port.python.capture import captures
from kernel_pytorch.port.python.edits import rocm_only_behind
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.source import SourceFile

RULE = Rule(
    "KP701", "manual-capture", ("python",), Safety.REVIEW, (b"cuda.graph", b"make_graphed_callables", b"import graph")
)

_STATE = ("cache", "state", "inference_params", "past", "kv", "optim", "step")
_CLONED = b"lambda item: item.clone() if isinstance(item, torch.Tensor) else item"


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    module = python_module(src)
    if module is None:
        return
    message = "HIP reports nothing when a replay is wrong: it is not compared with the call itself"
    for block, graph in captures(module):
        # The insertion is recognised by its own second line, so that a second run adds no second check.
        if not _is_checked(module, block, graph):
            edit = _replay_check(module, block, graph)
            yield RULE.finding(src, module.span(block), message, [edit] if edit else [])
    for call in module.calls("torch.cuda.make_graphed_callables"):
        yield RULE.finding(src, module.span(call), message)


def _replay_check(module: PythonModule, block: ast.With, graph: ast.expr) -> Edit | None:
    only = block.body[0] if len(block.body) == 1 else None
    if not isinstance(only, ast.Assign) or len(only.targets) != 1:
        return None
    if not any(isinstance(node, ast.Call) for node in ast.walk(only.value)) or _keeps_state(only.value):
        return None
    target = only.targets[0]
    if not isinstance(target, (ast.Name, ast.Attribute)) or module.qualified(ast.Name("torch", ast.Load())) != "torch":
        return None
    name, call, target_text = module.text(graph), module.text(only.value), module.text(target)
    replayed = b"torch.utils._pytree.tree_map(" + _CLONED + b", " + target_text + b")"
    lines = [
        b"# A replay must give what the call gives: HIP does not report what a graph cannot hold.",
        name + b".replay()",
        b"torch.testing.assert_close(" + replayed + b", " + call + b")",
    ]
    return rocm_only_behind(module, block, lines)


def _is_checked(module: PythonModule, block: ast.With, graph: ast.expr) -> bool:
    parent = next(module.parents(block))
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(parent, name, None)
        if isinstance(statements, list) and block in statements:
            following = statements[statements.index(block) + 1 :][:1]
            text = ast.unparse(following[0]) if following else ""
            return f"{ast.unparse(graph)}.replay()" in text and "assert_close" in text
    return False


def _keeps_state(node: ast.expr) -> bool:
    """A cache or a state among the arguments: a second run continues from it, and its result differs rightly."""
    names = [item.id for item in ast.walk(node) if isinstance(item, ast.Name)]
    names += [item.arg for item in ast.walk(node) if isinstance(item, ast.keyword) and item.arg]
    return any(word in name.lower() for name in names for word in _STATE)
