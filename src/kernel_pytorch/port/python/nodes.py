"""All nodes of a file, gone through once: walking a tree anew for every rule is most of what a scan would cost."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TypeVar

from kernel_pytorch.port.python.module import PythonModule

Node = TypeVar("Node", bound=ast.AST)


@lru_cache(maxsize=16)
def all_nodes(module: PythonModule) -> tuple[ast.AST, ...]:
    """Every node, in the order of `ast.walk`."""
    return tuple(ast.walk(module.tree))


@lru_cache(maxsize=512)
def nodes_of(module: PythonModule, kind: type[Node]) -> tuple[Node, ...]:
    """Every node of one kind."""
    return tuple(node for node in all_nodes(module) if isinstance(node, kind))
