"""Where a value comes from and where it goes, through names, parameters, calls and the project's own modules.

Both directions are bounded and ignore the order of statements: a name may have every value it is ever given. A value
whose way is not seen ends there, so that a rule says less, never more, than the code shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.bindings import assigned_names, bindings
from kernel_pytorch.port.python.definitions import (
    FunctionNode,
    call_sites,
    default_values,
    definitions,
    own_class,
    parameter_of,
    returned,
)
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.per_module import per_module
from kernel_pytorch.port.python.project_modules import find_module

_MAX_STEPS = 400
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, eq=False)
class ValuePlace:
    """An expression and the module it stands in."""

    module: PythonModule
    node: ast.expr


def origins(module: PythonModule, node: ast.expr) -> Iterator[ValuePlace]:
    """The expressions that an expression's value may be, as far back as the project shows."""
    seen: set[int] = set()
    pending = [ValuePlace(module, node)]
    while pending and len(seen) < _MAX_STEPS:
        place = pending.pop()
        if id(place.node) in seen:
            continue
        seen.add(id(place.node))
        before = list(_before(place))
        if before:
            pending.extend(before)
        else:
            yield place


def _before(place: ValuePlace) -> Iterator[ValuePlace]:
    """One step back; nothing for an expression that is its own origin."""
    module, node = place.module, place.node
    if isinstance(node, ast.IfExp):
        yield from (ValuePlace(module, item) for item in (node.body, node.orelse) if module.reached_on_rocm(item))
    elif isinstance(node, ast.BoolOp):
        yield from (ValuePlace(module, item) for item in node.values)
    elif isinstance(node, ast.NamedExpr):
        yield ValuePlace(module, node.value)
    elif isinstance(node, ast.Name):
        yield from _behind_name(module, node)
    elif isinstance(node, ast.Attribute):
        fields = field_values(module, node)
        if fields:
            yield from (ValuePlace(module, value) for value in fields)
        elif (name := module.qualified(node)) is not None:
            yield from _imported_value(module, name)
    elif isinstance(node, ast.Call):
        for one in definitions(module, node.func):
            function = one.function
            if function is not None and function is one.node:
                yield from (ValuePlace(one.module, value) for value in returned(function))


def _behind_name(module: PythonModule, node: ast.Name) -> Iterator[ValuePlace]:
    name = module.qualified(node)
    if name is not None:
        yield from _imported_value(module, name)
        return
    for value in bindings(module, node):
        if value is not None:
            yield ValuePlace(module, value)
    function = parameter_owner(module, node)
    if function is not None:
        default = default_values(function).get(node.id)
        if default is not None:
            yield ValuePlace(module, default)
        for call in call_sites(module, function):
            arguments = (*call.args, *(item.value for item in call.keywords))
            for one in definitions(module, call.func):
                yield from (ValuePlace(module, item) for item in arguments if parameter_of(one, call, item) == node.id)


def parameter_owner(module: PythonModule, node: ast.Name) -> FunctionNode | None:
    """The function whose parameter a name is."""
    scope = module.scope(node)
    while node.id not in scope.others and scope.parent is not None:
        scope = scope.parent
    function = scope.node
    if not isinstance(function, _FUNCTIONS):
        return None
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return function if any(item.arg == node.id for item in every) else None


def _imported_value(module: PythonModule, name: str) -> Iterator[ValuePlace]:
    """The value of another module's global: `from .constants import FP8`."""
    place = find_module(module, name)
    if place is None or len(place[1]) != 1:
        return
    other, (wanted,) = place
    for statement in other.tree.body:
        for target, value in assigned_names(statement):
            if target.id == wanted and value is not None:
                yield ValuePlace(other, value)


def field_values(module: PythonModule, node: ast.Attribute) -> list[ast.expr]:
    """What a class assigns to a field of `self`; empty for any other attribute."""
    owner = own_class(module, node.value) if isinstance(node.value, ast.Name) else None
    return _fields(module).get((owner, node.attr), []) if owner is not None else []


@per_module
def _fields(module: PythonModule) -> dict[tuple[ast.ClassDef, str], list[ast.expr]]:
    """What the methods of each class assign to the fields of `self`, and what the class's own body assigns."""
    found: dict[tuple[ast.ClassDef, str], list[ast.expr]] = {}
    given = [(target, node.value) for node in nodes_of(module, ast.Assign) for target in node.targets]
    given += [(node.target, node.value) for node in nodes_of(module, ast.AnnAssign) if node.value is not None]
    for target, value in given:
        owner, name = _field_of(module, target)
        if owner is not None:
            found.setdefault((owner, name), []).append(value)
    return found


def _field_of(module: PythonModule, target: ast.expr) -> tuple[ast.ClassDef | None, str]:
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        return own_class(module, target.value), target.attr
    if isinstance(target, ast.Name):
        around = module.scope(target).node
        return (around, target.id) if isinstance(around, ast.ClassDef) else (None, "")
    return None, ""


def uses(module: PythonModule, node: ast.expr) -> Iterator[ValuePlace]:
    """Every expression that has the value of an expression, itself first: where the value goes."""
    seen: set[int] = set()
    pending = [ValuePlace(module, node)]
    while pending and len(seen) < _MAX_STEPS:
        place = pending.pop(0)
        if id(place.node) not in seen:
            seen.add(id(place.node))
            yield place
            pending.extend(_after(place))


def ends(module: PythonModule, node: ast.expr) -> Iterator[ValuePlace]:
    """The last expressions that a value is seen in: what they are part of decides what becomes of it."""
    yield from (place for place in uses(module, node) if not any(True for _ in _after(place)))


def _after(place: ValuePlace) -> Iterator[ValuePlace]:
    """One step on: the parameter an argument becomes, the uses of the name it is given, the result it is part of."""
    module, node = place.module, place.node
    parents = module.parents(node)
    parent = next(parents, None)
    if isinstance(parent, ast.keyword):
        parent = next(parents, None)
    if isinstance(parent, ast.Call) and node is not parent.func:
        for one in definitions(module, parent.func):
            name = parameter_of(one, parent, node)
            if name is not None and one.function is not None:
                yield from _loads(one.module, one.function, name)
    elif isinstance(parent, ast.arguments):
        function = next(parents)
        assert isinstance(function, _FUNCTIONS)
        for name, value in default_values(function).items():
            if value is node:
                yield from _loads(module, function, name)
    elif isinstance(parent, (ast.IfExp, ast.BoolOp, ast.NamedExpr)) and node is not getattr(parent, "test", None):
        yield ValuePlace(module, parent)
    elif isinstance(parent, (ast.Assign, ast.AnnAssign)) and node is parent.value:
        for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
            yield from _after_assignment(module, target)
    elif isinstance(parent, (ast.Return, ast.Lambda)):
        around = next((item for item in (parent, *parents) if isinstance(item, _FUNCTIONS)), None)
        if around is not None:
            yield from (ValuePlace(module, call) for call in call_sites(module, around))


def _after_assignment(module: PythonModule, target: ast.expr) -> Iterator[ValuePlace]:
    owner, name = _field_of(module, target)
    if owner is not None:
        for node in nodes_of(module, ast.Attribute):
            is_read = node.attr == name and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)
            if is_read and isinstance(node.value, ast.Name) and own_class(module, node.value) is owner:
                yield ValuePlace(module, node)
    elif isinstance(target, ast.Name):
        yield from _loads(module, module.scope(target).node, target.id)


def _loads(module: PythonModule, scope: ast.AST, name: str) -> Iterator[ValuePlace]:
    """The places that read a name of a scope, in it or in functions inside it that do not bind it themselves."""
    for node in _reads(module).get(name, ()):
        around = module.scope(node)
        while name not in around.others and around.parent is not None:
            around = around.parent
        if around.node is scope:
            yield ValuePlace(module, node)


@per_module
def _reads(module: PythonModule) -> dict[str, list[ast.Name]]:
    found: dict[str, list[ast.Name]] = {}
    for node in nodes_of(module, ast.Name):
        if isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node)
    return found
