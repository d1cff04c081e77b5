"""Where Python source captures a graph, and what is captured."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.per_module import per_module

_NAMES = ("torch.cuda.graph", "torch.cuda.graphs.graph")
TRIGGERS = (b"cuda.graph", b"import graph", b"capture_begin")


@dataclass(frozen=True, eq=False)
class Capture:
    """One capture: the statement that starts it, the graph it fills and the statements in it."""

    start: ast.With | ast.Expr
    graph: ast.expr
    body: list[ast.stmt]


@per_module
def captures(module: PythonModule) -> tuple[Capture, ...]:
    """`with torch.cuda.graph(g):` blocks and `g.capture_begin()` ... `g.capture_end()`, wherever ROCm gets to."""
    found: list[Capture] = []
    for node in all_nodes(module):
        if isinstance(node, ast.With) and module.reached_on_rocm(node):
            found.extend(Capture(node, graph, node.body) for item in node.items for graph in _filled(module, item))
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                found.extend(one for one in _between(block) if module.reached_on_rocm(one.start))
    return tuple(found)


def _filled(module: PythonModule, item: ast.withitem) -> Iterator[ast.expr]:
    call = item.context_expr
    if isinstance(call, ast.Call) and module.qualified(call.func) in _NAMES:
        graph = call.args[0] if call.args else _keyword(call, "cuda_graph")
        if graph is not None:
            yield graph


def _between(block: list[ast.stmt]) -> Iterator[Capture]:
    for at, statement in enumerate(block):
        graph = _method_of(statement, "capture_begin")
        if graph is None or not isinstance(statement, ast.Expr):
            continue
        rest = block[at + 1 :]
        is_end = [_method_of(item, "capture_end") is not None for item in rest]
        yield Capture(statement, graph, rest[: is_end.index(True)] if True in is_end else rest)


def _method_of(statement: ast.stmt, name: str) -> ast.expr | None:
    """The graph whose method a statement calls: `g.capture_begin(pool=...)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return function.value if isinstance(function, ast.Attribute) and function.attr == name else None


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
