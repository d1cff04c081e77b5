"""Which function or class of the project an expression means, and which argument goes to which parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes, nodes_of
from kernel_pytorch.port.python.per_module import per_module
from kernel_pytorch.port.python.project_modules import find_module
from kernel_pytorch.port.python.scopes import Scope

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DefinitionNode = FunctionNode | ast.ClassDef

_MAX_DEPTH = 6
# Their first argument is what is called in the end.
_WRAPPERS = frozenset({"functools.partial", "torch.compile", "torch.no_grad", "functools.lru_cache", "functools.cache"})


@dataclass(frozen=True, eq=False)
class Definition:
    """A function or class and the module it stands in. `is_bound`: reached through an instance, so `self` is given."""

    module: PythonModule
    node: DefinitionNode
    is_bound: bool = False

    @property
    def function(self) -> FunctionNode | None:
        """What a call of it runs: the function, or the class's `__init__`."""
        if not isinstance(self.node, ast.ClassDef):
            return self.node
        return next((item for item in methods(self.node) if item.name == "__init__"), None)


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The methods that a class defines itself."""
    yield from (item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))


def definitions(module: PythonModule, node: ast.expr, depth: int = 0) -> list[Definition]:
    """Every function or class of the project that an expression may mean; empty where it is not seen."""
    if depth > _MAX_DEPTH:
        return []
    if isinstance(node, ast.Lambda):
        return [Definition(module, node)]
    if isinstance(node, ast.Call):
        wraps = node.args and module.qualified(node.func) in _WRAPPERS
        return definitions(module, node.args[0], depth + 1) if wraps else []
    if isinstance(node, ast.Name):
        return _by_name(module, node, depth)
    if isinstance(node, ast.Attribute):
        name = module.qualified(node)
        return _imported(module, name, depth) if name is not None else list(_attribute(module, node, depth))
    return []


def _by_name(module: PythonModule, node: ast.Name, depth: int) -> list[Definition]:
    scope = _binding_scope(module.scope(node), node.id)
    if scope is None:
        return []
    found = [Definition(module, one) for one in _defined(module).get((scope.node, node.id), ())]
    for value in bindings(module, node):
        if isinstance(value, (ast.Name, ast.Lambda, ast.Attribute, ast.Call)) and not _names(value, node.id):
            found += definitions(module, value, depth + 1)
    if found or node.id not in scope.imports:
        return found
    name = module.qualified(node)
    return _imported(module, name, depth) if name is not None else []


def _names(value: ast.expr, name: str) -> bool:
    """`f = torch.compile(f)` says nothing new about f."""
    return any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(value))


def _binding_scope(scope: Scope | None, name: str) -> Scope | None:
    first = True
    while scope is not None:
        seen = first or not isinstance(scope.node, ast.ClassDef)
        if seen and name not in scope.outer and (name in scope.others or name in scope.imports):
            return scope
        first, scope = False, scope.parent
    return None


@per_module
def _defined(module: PythonModule) -> dict[tuple[ast.AST, str], list[DefinitionNode]]:
    found: dict[tuple[ast.AST, str], list[DefinitionNode]] = {}
    for node in all_nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault((module.scope(node).node, node.name), []).append(node)
    return found


def _imported(module: PythonModule, name: str, depth: int) -> list[Definition]:
    """What a dotted name means in the module of the project that it begins with, through imports of that one too."""
    place = find_module(module, name)
    if place is None:
        return []
    other, rest = place
    if not rest or len(rest) > 2:
        return []
    found = [Definition(other, one) for one in _defined(other).get((other.tree, rest[0]), ())]
    onward = other.scope(other.tree).imports.get(rest[0])
    if not found and onward is not None and depth < _MAX_DEPTH and onward != name:
        return _imported(other, ".".join([onward, *rest[1:]]), depth + 1)
    if len(rest) == 2:
        return [one for item in found for one in _method(item, rest[1], depth, is_bound=False)]
    return found


def _attribute(module: PythonModule, node: ast.Attribute, depth: int) -> Iterator[Definition]:
    """`self.helper`, and a method of something that is made here: `model = Model(...)`, `model.forward`."""
    if not isinstance(node.value, ast.Name):
        return
    owner = own_class(module, node.value)
    if owner is not None:
        yield from _method(Definition(module, owner), node.attr, depth)
        return
    for value in bindings(module, node.value):
        if isinstance(value, ast.Call) and not _names(value, node.value.id):
            for one in definitions(module, value.func, depth + 1):
                yield from _method(one, node.attr, depth)


def own_class(module: PythonModule, name: ast.Name) -> ast.ClassDef | None:
    """The class whose instance a method calls `self` (its first parameter, whatever its name)."""
    for parent in module.parents(name):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            around = next(module.parents(parent), None)
            first = next(iter([*parent.args.posonlyargs, *parent.args.args]), None)
            if isinstance(around, ast.ClassDef) and first is not None:
                return around if first.arg == name.id and not _is_static(parent) else None
    return None


def _is_static(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list)


def _method(owner: Definition, name: str, depth: int, is_bound: bool = True) -> Iterator[Definition]:
    if not isinstance(owner.node, ast.ClassDef) or depth > _MAX_DEPTH:
        return
    own = [item for item in methods(owner.node) if item.name == name]
    if own:
        yield from (Definition(owner.module, item, is_bound and not _is_static(item)) for item in own)
        return
    for base in owner.node.bases:
        for one in definitions(owner.module, base, depth + 1):
            yield from _method(one, name, depth + 1, is_bound)


def class_methods(owner: Definition, *names: str) -> Iterator[Definition]:
    """Methods of a class by name, its own or a base's."""
    for name in names:
        yield from _method(owner, name, 0)


def parameter_names(definition: Definition) -> list[str]:
    """The parameters that positional arguments of a call fill, in order."""
    function = definition.function
    if function is None:
        return []
    names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if definition.is_bound or isinstance(definition.node, ast.ClassDef) else names


def parameter_of(definition: Definition, call: ast.Call, argument: ast.expr) -> str | None:
    """The parameter that an argument of a call becomes; None where `*` or `**` hide it."""
    function = definition.function
    if function is None or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    for keyword in call.keywords:
        if keyword.value is argument:
            every = (*function.args.args, *function.args.kwonlyargs)
            return keyword.arg if any(item.arg == keyword.arg for item in every) else None
    names = parameter_names(definition)
    place = next((at for at, item in enumerate(call.args) if item is argument), len(names))
    return names[place] if place < len(names) else None


def arguments_of(definition: Definition, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives to each parameter, defaults that it leaves alone included."""
    function = definition.function
    if function is None or any(isinstance(item, ast.Starred) for item in call.args):
        return {}
    given = default_values(function)
    given.update(zip(parameter_names(definition), call.args, strict=False))
    given.update({item.arg: item.value for item in call.keywords if item.arg is not None})
    return given


def default_values(function: FunctionNode) -> dict[str, ast.expr]:
    """The defaults of a function by parameter."""
    every = [*function.args.posonlyargs, *function.args.args]
    late = every[len(every) - len(function.args.defaults) :]
    found = {item.arg: value for item, value in zip(late, function.args.defaults, strict=True)}
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    found.update({item.arg: value for item, value in pairs if value is not None})
    return found


def returned(function: FunctionNode) -> Iterator[ast.expr]:
    """What a function returns, those of functions inside it left out."""
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))


def call_sites(module: PythonModule, function: FunctionNode) -> Iterator[ast.Call]:
    """The calls of a function in its own module."""
    name = "" if isinstance(function, ast.Lambda) else function.name
    for call in _calls_by_last_name(module).get(name, ()):
        if any(one.function is function for one in definitions(module, call.func)):
            yield call


@per_module
def _calls_by_last_name(module: PythonModule) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for call in nodes_of(module, ast.Call):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        found.setdefault(name, []).append(call)
    return found
