"""What runs when statements run: their own expressions, and those of the project's functions that they call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.definitions import (
    Definition,
    arguments_of,
    call_sites,
    class_methods,
    definitions,
)
from kernel_pytorch.port.python.flow import origins, parameter_owner
from kernel_pytorch.port.python.module import PythonModule

_MAX_FUNCTIONS = 80
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Running:
    """A node that runs. `via` is the call among the first statements that leads to it; None: it is one of theirs."""

    module: PythonModule
    node: ast.AST
    via: ast.Call | None


def running(module: PythonModule, statements: Iterable[ast.AST]) -> Iterator[Running]:
    """Every node that runs on ROCm when the statements do, as far as the project's own functions show."""
    pending: list[tuple[PythonModule, ast.AST, ast.Call | None]] = [(module, item, None) for item in statements]
    seen: set[int] = set()
    while pending:
        where, top, via = pending.pop(0)
        for node in _own_nodes(top):
            if isinstance(node, ast.Call):
                if not where.reached_on_rocm(node):
                    continue
                for one in called(where, node):
                    if id(one.node) not in seen and len(seen) < _MAX_FUNCTIONS:
                        seen.add(id(one.node))
                        pending.extend((one.module, item, via or node) for item in _body(one))
            yield Running(where, node, via)


def import_time(module: PythonModule) -> Iterator[ast.AST]:
    """What runs when the module is imported: its body, class bodies, decorators and the defaults of parameters."""
    pending: list[ast.AST] = list(module.tree.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from node.decorator_list
            yield from node.args.defaults
            yield from (item for item in node.args.kw_defaults if item is not None)
        elif isinstance(node, ast.ClassDef):
            yield from (*node.decorator_list, *node.bases)
            pending.extend(node.body)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            # Functions and classes may be defined under a condition; its test runs as well.
            pending.extend(ast.iter_child_nodes(node))
        else:
            yield node


def called(module: PythonModule, call: ast.Call) -> list[Definition]:
    """The functions of the project that a call runs: by name, a module's `forward`, or what a parameter was given."""
    found = [one for one in definitions(module, call.func) if one.function is not None]
    if found or not isinstance(call.func, (ast.Name, ast.Attribute)):
        return found
    return [*_handed_in(module, call.func), *instance_methods(module, call.func)]


def instance_methods(module: PythonModule, node: ast.expr) -> list[Definition]:
    """`forward` and `__call__` of the project's classes that an expression may be an instance of."""
    found: list[Definition] = []
    for place in origins(module, node):
        if isinstance(place.node, ast.Call):
            made = definitions(place.module, place.node.func)
            found += [one for item in made for one in class_methods(item, "forward", "__call__")]
    return found


def _handed_in(module: PythonModule, node: ast.expr) -> Iterator[Definition]:
    """What the callers of a function give for a parameter that it calls."""
    function = parameter_owner(module, node) if isinstance(node, ast.Name) else None
    if function is None or not isinstance(node, ast.Name):
        return
    for call in call_sites(module, function):
        for one in definitions(module, call.func):
            given = arguments_of(one, call).get(node.id)
            if given is not None:
                yield from definitions(module, given)


def _body(definition: Definition) -> list[ast.AST]:
    function = definition.function
    if function is None:
        return []
    return [function.body] if isinstance(function, ast.Lambda) else list(function.body)


def _own_nodes(top: ast.AST) -> Iterator[ast.AST]:
    """A node and what is below it, bodies of functions and classes left out: they run when they are called."""
    pending = [top]
    while pending:
        node = pending.pop(0)
        if isinstance(node, _SCOPES):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))
