"""What names are bound to: the values that code assigns, and the functions and classes that it defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.per_module import per_module


def dotted(module: PythonModule, node: ast.expr) -> str | None:
    """Like `module.qualified`, and through a name that is bound once, to something imported."""
    known = module.qualified(node)
    if known is not None or not isinstance(node, (ast.Attribute, ast.Name)):
        return known
    if isinstance(node, ast.Attribute):
        base = dotted(module, node.value)
        return f"{base}.{node.attr}" if base is not None else None
    value = bound_once(module, node)
    if isinstance(value, (ast.Attribute, ast.Name)) and value is not node:
        return module.qualified(value)
    return None


def bound_once(module: PythonModule, name: ast.Name) -> ast.expr | None:
    """What a local or global name is assigned, if there is exactly one assignment of it in its scope."""
    found = list(bindings(module, name))
    return found[0] if len(found) == 1 else None


def bindings(module: PythonModule, name: ast.Name) -> Iterator[ast.expr | None]:
    """Every value assigned to a name in the scope it is looked up in; None for a binding that shows no value."""
    scope = module.scope(name)
    while name.id not in scope.others and scope.parent is not None:
        scope = scope.parent
    yield from _binding_index(module).get((scope.node, name.id), ())


@per_module
def _binding_index(module: PythonModule) -> dict[tuple[ast.AST, str], list[ast.expr | None]]:
    """All bindings of a file by scope and name: made once, because rules follow names in every file they look at."""
    index: dict[tuple[ast.AST, str], list[ast.expr | None]] = {}
    for node in all_nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    index.setdefault((node, argument.arg), []).append(None)
        for target, value in assigned_names(node):
            index.setdefault((module.scope(target).node, target.id), []).append(value)
    return index


def assigned_names(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr | None]]:
    """The names that a statement or a walrus binds, each with its value; None where it shows none."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target, node.value
            else:
                yield from _unpacked(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if isinstance(node.target, ast.Name):
            yield node.target, node.value
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
        yield from ((item, None) for item in _stored(node.target))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((item, None) for item in _stored(node.optional_vars))


def _stored(target: ast.expr) -> Iterator[ast.Name]:
    yield from (item for item in ast.walk(target) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store))


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr | None]]:
    """`a, b = 1, 2` pairs names and values; of anything else the parts are not seen."""
    both = (ast.Tuple, ast.List)
    pairs = isinstance(target, both) and isinstance(value, both) and len(target.elts) == len(value.elts)
    if not pairs or not isinstance(target, both) or not isinstance(value, both):
        yield from ((item, None) for item in _stored(target))
        return
    is_starred = any(isinstance(item, ast.Starred) for item in (*target.elts, *value.elts))
    for one, part in zip(target.elts, value.elts, strict=True):
        yield from ((item, part if item is one and not is_starred else None) for item in _stored(one))
