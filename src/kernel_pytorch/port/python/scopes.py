"""What a name means at a place: an import, or something the code binds itself.

Only imports are followed. A name that a function binds (argument, assignment, loop) hides the import of the same name;
at module level an import wins over an assignment, because `x = None` beside `import x` is the fallback of that import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass
class Scope:
    """The bindings of one scope: `imports` map a local name to the dotted name it stands for."""

    node: ast.AST
    parent: Scope | None
    imports: dict[str, str] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal here

    def resolve(self, name: str) -> str | None:
        """The dotted name an identifier stands for, or None if it is not an import."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            is_class = isinstance(scope.node, ast.ClassDef)
            if (first or not is_class) and name not in scope.outer:
                if name in scope.imports and (scope.parent is None or name not in scope.others):
                    return scope.imports[name]
                if name in scope.others or name in scope.imports:
                    return None
            first = False
            scope = scope.parent
        return None


def build_scopes(tree: ast.Module, package: str = "") -> dict[ast.AST, Scope]:
    """The scope of every scope node. `package` is the dotted package of the file, for relative imports."""
    scopes: dict[ast.AST, Scope] = {}
    _fill(Scope(tree, None), tree, package, scopes)
    return scopes


def _fill(scope: Scope, node: ast.AST, package: str, scopes: dict[ast.AST, Scope]) -> None:
    scopes[node] = scope
    if isinstance(node, FunctionNode):
        scope.others.update(argument.arg for argument in _arguments(node.args))
    for child in _own_nodes(node):
        _bind(child, scope, package)
        if child is not node and _opens_scope(child):
            _fill(Scope(child, scope), child, package, scopes)


def _opens_scope(node: ast.AST) -> bool:
    comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *comprehension))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node of a scope, the heads of inner scopes included, their bodies not."""
    pending = list(ast.iter_child_nodes(node))
    while pending:
        child = pending.pop()
        yield child
        if not _opens_scope(child):
            pending.extend(ast.iter_child_nodes(child))


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from arguments.posonlyargs
    yield from arguments.args
    yield from arguments.kwonlyargs
    yield from (item for item in (arguments.vararg, arguments.kwarg) if item is not None)


def _bind(node: ast.AST, scope: Scope, package: str) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            # `import a.b` binds a; `import a.b as c` binds c to a.b.
            local = alias.asname or alias.name.split(".")[0]
            scope.imports[local] = alias.name if alias.asname else local
    elif isinstance(node, ast.ImportFrom):
        base = _absolute(node, package)
        for alias in node.names:
            scope.imports[alias.asname or alias.name] = f"{base}.{alias.name}" if base else alias.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        scope.others.add(node.id)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
        scope.others.add(node.name)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        scope.outer.update(node.names)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - (node.level - 1)] if node.level > 1 else parts
    return ".".join([*kept, *([node.module] if node.module else [])])
