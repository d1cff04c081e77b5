"""Where code sets something global: an environment variable, or an attribute of a module such as Inductor's config."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes

_ENVIRON = ("os.environ",)


@dataclass(frozen=True)
class Setting:
    """One place that sets `name`. `value` is None where it is not written down there."""

    name: str
    value: ast.expr | None
    node: ast.expr | ast.stmt | ast.keyword
    statement: ast.stmt
    is_assignment: bool  # a statement of its own that does nothing else, so that it can be gated whole


def constant(node: ast.AST | None) -> object:
    """The value of a literal, `...` where it is none."""
    return node.value if isinstance(node, ast.Constant) else ...


def environment_settings(module: PythonModule) -> Iterator[Setting]:
    """`os.environ[X] = v`, `.setdefault(X, v)`, `.update({X: v})`, `.update(X=v)`, `os.putenv(X, v)`."""
    for node in all_nodes(module):
        if isinstance(node, ast.Assign) and module.reached_on_rocm(node):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and module.qualified(target.value) in _ENVIRON:
                    name = constant(target.slice)
                    if isinstance(name, str):
                        yield Setting(name, node.value, node, node, len(node.targets) == 1)
    for call in module.calls("os.environ.setdefault", "os.putenv", "os.environ.update"):
        statement = _statement(module, call)
        whole = isinstance(statement, ast.Expr) and statement.value is call
        first = constant(call.args[0]) if call.args else None
        if isinstance(first, str):
            yield Setting(first, call.args[1] if len(call.args) > 1 else None, call, statement, whole)
            continue
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield Setting(keyword.arg, keyword.value, keyword, statement, False)
        if call.args and isinstance(call.args[0], ast.Dict):
            for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
                if isinstance(name := constant(key), str):
                    yield Setting(name, value, value, statement, False)


def attribute_settings(module: PythonModule, *names: str) -> Iterator[Setting]:
    """Assignments to attributes by their dotted names, through imports and `cfg = torch._inductor.config`."""
    for node in all_nodes(module):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Attribute):
                name = dotted(module, target)
                if name in names and module.reached_on_rocm(node):
                    yield Setting(name, node.value, node, node, len(targets) == 1)


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


@lru_cache(maxsize=1)
def _binding_index(module: PythonModule) -> dict[tuple[ast.AST, str], list[ast.expr | None]]:
    """All bindings of a file by scope and name: made once, because rules follow names in every file they look at."""
    index: dict[tuple[ast.AST, str], list[ast.expr | None]] = {}
    for node in all_nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    index.setdefault((node, argument.arg), []).append(None)
        for target, value in _targets(node):
            index.setdefault((module.scope(target).node, target.id), []).append(value)
    return index


def _targets(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target, node.value
            else:
                yield from ((item, None) for item in _stored(target))
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if isinstance(node.target, ast.Name):
            yield node.target, node.value
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
        yield from ((item, None) for item in _stored(node.target))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((item, None) for item in _stored(node.optional_vars))


def _stored(target: ast.expr) -> Iterator[ast.Name]:
    yield from (item for item in ast.walk(target) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store))


def _statement(module: PythonModule, node: ast.AST) -> ast.stmt:
    return next(item for item in (node, *module.parents(node)) if isinstance(item, ast.stmt))
