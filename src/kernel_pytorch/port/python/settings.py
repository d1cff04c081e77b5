"""Where code sets something global: an environment variable, or an attribute of a module such as Inductor's config."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.bindings import dotted
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


def _statement(module: PythonModule, node: ast.AST) -> ast.stmt:
    return next(item for item in (node, *module.parents(node)) if isinstance(item, ast.stmt))
