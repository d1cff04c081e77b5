"""A graph captured by hand

What: `with torch.cuda.graph(g): ...`, `g.capture_begin()`, and `torch.cuda.make_graphed_callables`.
Why: Capture works on ROCm, but HIP does not report everything that a graph cannot hold. A call that is illegal during
    capture, or a pointer that has moved, shows as wrong numbers at replay and not as an error.
Fix: If the block is `out = f(x)`, kpt adds a check after it, on ROCm only, from a generated file
    `_rocm_graph_check.py`. With changed inputs, a replay must give what the same call gives without the graph; then
    the inputs are put back. The change is for review: the call runs once more, which matters if it keeps state or
    drops at random. If an argument is a cache or a state, and elsewhere, you add the check: `kpt port PATH --add
    graph-check` writes the file. Warm up with the same shapes on a side stream first, and capture under
    `torch.compiler.set_stance("fail_on_recompile")`: see KP704.
Source: ROCm/hip#3887; ROCm/hip#3876; https://docs.pytorch.org/docs/stable/generated/torch.compiler.set_stance.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.capture import TRIGGERS, captures
from kernel_pytorch.port.python.edits import rocm_only_behind
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP701", "manual-capture", ("python",), Safety.REVIEW, (*TRIGGERS, b"make_graphed_callables"))

_STATE = ("cache", "state", "inference_params", "past", "kv", "optim", "step")


def check(module: PythonModule) -> Iterator[Finding]:
    message = "HIP reports no error when a replay is wrong, and nothing compares this one with the plain call"
    for capture in captures(module):
        block, graph = capture.start, capture.graph
        # The insertion is recognised by its own second line, so that a second run adds no second check.
        if not _is_checked(module, block, graph):
            edit = _replay_check(module, block, graph) if isinstance(block, ast.With) else None
            yield RULE.finding(module.src, module.span(block), message, [edit] if edit else [])
    for call in module.calls("torch.cuda.make_graphed_callables"):
        yield RULE.finding(module.src, module.span(call), message)


def _replay_check(module: PythonModule, block: ast.With, graph: ast.expr) -> Edit | None:
    only = block.body[0] if len(block.body) == 1 else None
    if not isinstance(only, ast.Assign) or len(only.targets) != 1:
        return None
    if not any(isinstance(node, ast.Call) for node in ast.walk(only.value)) or _keeps_state(only.value):
        return None
    target = only.targets[0]
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return None
    inputs = b", ".join(module.text(item) for item in _inputs(only.value))
    given = (module.text(graph), b"lambda: " + module.text(only.value), module.text(target), b"[" + inputs + b"]")
    lines = [
        b"from ._rocm_graph_check import check_replay",
        b"# HIP does not report what a graph cannot hold: a replay must give what the call gives.",
        b"check_replay(" + b", ".join(given) + b")",
    ]
    return rocm_only_behind(module, block, lines)


def _inputs(value: ast.expr) -> list[ast.expr]:
    """What the calls of an expression are given by name: the check picks the tensors among it."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            for item in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(item, (ast.Name, ast.Attribute)):
                    found.setdefault(ast.unparse(item), item)
    return list(found.values())


def _is_checked(module: PythonModule, block: ast.stmt, graph: ast.expr) -> bool:
    parent = next(module.parents(block))
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(parent, name, None)
        if isinstance(statements, list) and block in statements:
            following = statements[statements.index(block) + 1 :][:1]
            text = ast.unparse(following[0]) if following else ""
            return f"check_replay({ast.unparse(graph)}," in text or (
                f"{ast.unparse(graph)}.replay()" in text and "assert_close" in text
            )
    return False


def _keeps_state(node: ast.expr) -> bool:
    """A cache or a state among the arguments: a second run continues from it, and its result differs rightly."""
    names = [item.id for item in ast.walk(node) if isinstance(item, ast.Name)]
    names += [item.arg for item in ast.walk(node) if isinstance(item, ast.keyword) and item.arg]
    return any(word in name.lower() for name in names for word in _STATE)
