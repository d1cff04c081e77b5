"""The output of a graph kept without a copy

What: A tensor that a capture fills, put into a list, a dictionary or a generator's results after `graph.replay()`
    without `.clone()`, there or by the caller of the function that replays.
Why: Every replay writes into the same memory. What was kept of an earlier one changes with it, and all entries of the
    list are the last result. CUDA has the same rule; on ROCm manual capture replaces Inductor's graphs, whose outputs
    are copied for the caller.
Fix: Keep `out.clone()`. kpt reports the place; whether the entry is used before the next replay is left to you.
Source: https://docs.pytorch.org/docs/stable/notes/cuda.html (CUDA Graphs: constraints);
    Arist12/AMD-Skills on GitHub, amd-rocm-porting/references/torch-compile-and-cudagraph.md ("output aliases the
    captured memory")
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capture import TRIGGERS, captures
from kernel_pytorch.port.python.flow import uses
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP705", "replay-output-kept", ("python",), Safety.MANUAL, TRIGGERS)

_KEEPING = frozenset({"append", "extend", "insert", "put", "add", "setdefault"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def check(module: PythonModule) -> Iterator[Finding]:
    outputs = {name for capture in captures(module) for name in _filled(capture.body)}
    if not outputs:
        return
    seen: set[int] = set()
    for node in _read_after_replay(module, outputs):
        for place in uses(module, node):
            kept = _kept_by(place.module, place.node)
            if kept is None or place.module is not module or id(place.node) in seen:
                continue
            seen.add(id(place.node))
            message = f"{ast.unparse(node)} is the graph's own memory: {kept}, it changes with the next replay"
            yield RULE.finding(module.src, module.span(place.node), message)


def _filled(body: list[ast.stmt]) -> Iterator[str]:
    """The names that the statements of a capture assign."""
    for statement in body:
        for node in ast.walk(statement):
            for target in node.targets if isinstance(node, ast.Assign) else []:
                items = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (ast.unparse(item) for item in items if isinstance(item, (ast.Name, ast.Attribute)))


def _read_after_replay(module: PythonModule, outputs: set[str]) -> Iterator[ast.expr]:
    """Where a function that replays a graph reads one of the outputs afterwards."""
    for call in nodes_of(module, ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "replay" or call.args:
            continue
        around = next((item for item in module.parents(call) if isinstance(item, _FUNCTIONS)), module.tree)
        for node in ast.walk(around):
            is_read = isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
            if is_read and isinstance(node, ast.expr) and node.lineno >= call.lineno and ast.unparse(node) in outputs:
                yield node


def _kept_by(module: PythonModule, node: ast.expr) -> str | None:
    parent = next(module.parents(node))
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and node in parent.args:
        return f"kept by .{parent.func.attr}()" if parent.func.attr in _KEEPING else None
    if isinstance(parent, ast.Assign) and any(isinstance(item, ast.Subscript) for item in parent.targets):
        # `buffer[i] = out` copies into a tensor: only an entry under a text is surely a dictionary's.
        keys = [item.slice for item in parent.targets if isinstance(item, ast.Subscript)]
        named = any(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys)
        return "kept in a dictionary" if named else None
    if isinstance(parent, ast.Yield):
        return "handed out by a generator"
    is_element = isinstance(parent, (ast.ListComp, ast.GeneratorExp)) and node is parent.elt
    return "kept in a list" if is_element else None
