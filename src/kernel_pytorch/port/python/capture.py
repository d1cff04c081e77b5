"""Where Python source captures a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes


def captures(module: PythonModule) -> Iterator[tuple[ast.With, ast.expr]]:
    """`with torch.cuda.graph(g):` blocks that ROCm gets to, each with the graph it fills."""
    for node in all_nodes(module):
        if not isinstance(node, ast.With) or not module.reached_on_rocm(node):
            continue
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and module.qualified(call.func) in _NAMES:
                graph = call.args[0] if call.args else _keyword(call, "cuda_graph")
                if graph is not None:
                    yield node, graph


_NAMES = ("torch.cuda.graph", "torch.cuda.graphs.graph")


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
