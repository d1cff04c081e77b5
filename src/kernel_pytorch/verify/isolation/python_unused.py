"""New definitions and imports that nothing on the NVIDIA path uses: they load, and do nothing else."""

from __future__ import annotations

import ast
import re

Function = ast.FunctionDef | ast.AsyncFunctionDef
_ROCM_WORD = re.compile(r"(?:^|_)(?:rocm|hip|aiter|amd)(?:_|$)", re.IGNORECASE)


def is_rocm_function(name: str) -> bool:
    """`rocm_unquantized_gemm`, `forward_hip`."""
    return _ROCM_WORD.search(name) is not None


def drop_unused_definitions(before: ast.Module, after: ast.Module, assumptions: list[str]) -> None:
    """Takes out new functions that nothing uses, until there is none left; both modules are folded.

    A new method may take the place of one of a base class: it goes only if its name says that it is ROCm's.
    """
    old_names = {item.name for item in before.body if isinstance(item, (*_FUNCTIONS, ast.ClassDef))}
    old_classes = {item.name: item for item in before.body if isinstance(item, ast.ClassDef)}
    changed = True
    while changed:
        changed = False
        for item in list(after.body):
            if isinstance(item, _FUNCTIONS) and _is_droppable(item, old_names, after):
                after.body.remove(item)
                changed = True
            elif isinstance(item, ast.ClassDef) and item.name in old_classes:
                changed = _drop_methods(old_classes[item.name], item, after, assumptions) or changed


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _is_droppable(item: Function, old_names: set[str], after: ast.Module) -> bool:
    return item.name not in old_names and not item.decorator_list and not is_used(after, item)


def _drop_methods(old: ast.ClassDef, new: ast.ClassDef, after: ast.Module, assumptions: list[str]) -> bool:
    old_names = {node.name for node in ast.walk(old) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
    dropped = False
    for item in list(new.body):
        if not isinstance(item, _FUNCTIONS) or len(new.body) == 1 or not is_rocm_function(item.name):
            continue
        if _is_droppable(item, old_names, after):
            new.body.remove(item)
            assumptions.append(f"`{new.name}.{item.name}` is called on ROCm only, as it says")
            dropped = True
    return dropped


def is_used(tree: ast.Module, function: Function) -> bool:
    """Referred to anywhere outside itself, also as text: `getattr(module, "name")` and `__all__` count."""
    inside = set(map(id, ast.walk(function)))
    return any(_refers(node, function.name) for node in ast.walk(tree) if id(node) not in inside)


def uses(tree: ast.Module, name: str) -> bool:
    """Whether a module does more with a name than import it, also by another name or as text."""
    names = {name}
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and node.asname and node.name.rsplit(".", 1)[-1] == name:
            names.add(node.asname)
    return any(_refers(node, known) for node in ast.walk(tree) if not isinstance(node, ast.alias) for known in names)


def _refers(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name
    if isinstance(node, ast.Attribute):
        return node.attr == name
    if isinstance(node, ast.alias):
        return name in (node.name.rsplit(".", 1)[-1], node.asname)
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and re.search(rf"\b{re.escape(name)}\b", text) is not None


def drop_imports_that_only_ask(
    own: frozenset[str], before: ast.Module, after: ast.Module, asked: frozenset[str], assumptions: list[str]
) -> None:
    """Takes out new imports from the project itself whose names serve gates alone: `from vllm.platforms import
    current_platform` for `current_platform.is_rocm()`. What is left of them on NVIDIA is that a module is loaded.

    An import from elsewhere stays: on a machine without that package it fails.
    """
    known = {
        alias.asname or alias.name for node in before.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for statement in list(after.body):
        if not isinstance(statement, ast.ImportFrom) or not _is_own(statement, own):
            continue
        names = [alias for alias in statement.names if (alias.asname or alias.name) in asked]
        unused = [
            alias
            for alias in names
            if (alias.asname or alias.name) not in known
            and not any(_refers(node, alias.asname or alias.name) for node in _without(after, statement))
        ]
        if not unused:
            continue
        module = "." * statement.level + (statement.module or "")
        for alias in unused:
            statement.names.remove(alias)
            assumptions.append(
                f"`from {module} import {alias.name}` only asks which GPU there is, and loading it is harmless"
            )
        if not statement.names:
            after.body.remove(statement)


def _is_own(node: ast.ImportFrom, own: frozenset[str]) -> bool:
    return bool(node.level) or (node.module or "").split(".")[0] in own


def _without(tree: ast.Module, statement: ast.stmt) -> list[ast.AST]:
    inside = set(map(id, ast.walk(statement)))
    return [node for node in ast.walk(tree) if id(node) not in inside]
