"""All nodes of a file, gone through once: walking a tree anew for every rule is most of what a scan would cost."""

from __future__ import annotations

import ast
from typing import TypeVar, cast

from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.per_module import per_module

Node = TypeVar("Node", bound=ast.AST)


@per_module
def all_nodes(module: PythonModule) -> tuple[ast.AST, ...]:
    """Every node, in the order of `ast.walk`."""
    return tuple(ast.walk(module.tree))


def nodes_of(module: PythonModule, kind: type[Node]) -> tuple[Node, ...]:
    """Every node of one kind."""
    known = _by_kind(module)
    if kind not in known:
        known[kind] = tuple(node for node in all_nodes(module) if isinstance(node, kind))
    return cast("tuple[Node, ...]", known[kind])


@per_module
def _by_kind(module: PythonModule) -> dict[type[ast.AST], tuple[ast.AST, ...]]:
    return {}
