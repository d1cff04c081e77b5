"""Finds @triton.jit kernels in Python sources and works out what their parameters are, without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Sizes are summands too, where a bound is computed next to an address.
_NUMBER = re.compile(r"(^|_)(size|seqlen|len|length|dim|stride|limit|rows|cols|num|n)(_|$)", re.IGNORECASE)
SKIPPED_FOLDERS = {".git", ".venv", "node_modules", "__pycache__", "build", "dist"}
_MEMORY = {"load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg", "make_block_ptr"}


@dataclass
class Parameter:
    """One parameter. `kind` is "pointer", "constexpr" or "scalar"; `value` a constant known from the source."""

    name: str
    kind: str
    value: Any = None
    known: bool = False
    is_float: bool = False


@dataclass
class FoundKernel:
    """A kernel somebody launches (a @triton.jit function only called by others is no kernel)."""

    path: str
    line: int
    name: str
    parameters: list[Parameter] = field(default_factory=list)
    num_warps: int | None = None


def python_files(root: Path) -> list[Path]:
    """The file itself, or every Python file under a folder that mentions triton.jit."""
    if root.is_file():
        return [root]
    found = []
    for path in sorted(root.rglob("*.py")):
        if not SKIPPED_FOLDERS & set(path.relative_to(root).parts):
            found.append(path)
    return [path for path in found if b"triton.jit" in path.read_bytes()]


def find_kernels(paths: list[Path]) -> list[FoundKernel]:
    """Every kernel that is launched somewhere in these files, with what the source says about its parameters."""
    trees = {path: tree for path in paths if (tree := _parse(path)) is not None}
    launches: dict[str, list[ast.Call]] = {}
    for tree in trees.values():
        for name, call in _launches(tree):
            launches.setdefault(name, []).append(call)
    found = []
    for path, tree in trees.items():
        for function in _jit_functions(tree):
            if function.name in launches or _has_decorator(function, "autotune"):
                found.append(_kernel(path, function, launches.get(function.name, [])))
    return found


def _parse(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except SyntaxError:
        return None


def _jit_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _has_decorator(node, "jit"):
            yield node


def _has_decorator(function: ast.FunctionDef, name: str) -> bool:
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr == name:
            return True
    return False


def _launches(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            kernel = node.func.value
            if isinstance(kernel, ast.Name):
                yield kernel.id, node
            elif isinstance(kernel, ast.Attribute):
                yield kernel.attr, node


def _kernel(path: Path, function: ast.FunctionDef, calls: list[ast.Call]) -> FoundKernel:
    pointers = _pointers(function)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    defaults = dict(zip(reversed(arguments), reversed(function.args.defaults), strict=False))
    kernel = FoundKernel(str(path), function.lineno, function.name)
    for position, argument in enumerate(arguments):
        kind = "pointer" if argument.arg in pointers else "scalar"
        if argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation):
            kind = "constexpr"
        parameter = Parameter(argument.arg, kind)
        default = defaults.get(argument)
        for value in [*_given(calls, position, argument.arg), *([default] if default is not None else [])]:
            if isinstance(value, ast.Constant):
                parameter.is_float = parameter.is_float or isinstance(value.value, float)
                if not parameter.known:
                    parameter.value, parameter.known = value.value, True
        kernel.parameters.append(parameter)
    for call in calls:
        for keyword in call.keywords:
            warps = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == "num_warps" and isinstance(warps, int):
                kernel.num_warps = warps
    return kernel


def _given(calls: list[ast.Call], position: int, name: str) -> list[ast.expr]:
    given = []
    for call in calls:
        if position < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args):
            given.append(call.args[position])
        given += [keyword.value for keyword in call.keywords if keyword.arg == name]
    return given


def _pointers(function: ast.FunctionDef) -> set[str]:
    """Parameters that are summands of an address. Strides are factors, bounds are compared: neither is a summand."""
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    address: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MEMORY:
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "base"), None)
            if first is not None:
                address |= _summands(first)
        elif isinstance(node, ast.Call):  # handed to another jit function by a name that says what it is
            address |= {one.id for one in node.args if isinstance(one, ast.Name) and "ptr" in one.id.lower()}
    assigned: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, set()).update(_summands(node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            assigned.setdefault(node.target.id, set())
    grown = True
    while grown:
        more = {name for known in address for name in assigned.get(known, set())} - address
        address |= more
        grown = bool(more)
    # An additive offset (an index computed before) may be a name too; only parameters count.
    found = address & names
    return {name for name in found if not _is_index(name)} | {name for name in names if name.lower().endswith("ptr")}


def _is_index(name: str) -> bool:
    return bool(_NUMBER.search(name)) or (name.isupper() and "PTR" not in name and len(name) > 3)


def _summands(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return _summands(node.left) | _summands(node.right)
    if isinstance(node, ast.IfExp):
        return _summands(node.body) | _summands(node.orelse)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        return _summands(node.func.value)
    return set()
