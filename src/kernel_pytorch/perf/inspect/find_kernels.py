"""Finds @triton.jit kernels in Python sources and works out what their parameters are, without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from kernel_pytorch.perf.inspect.call_sites import Surroundings, best, launches, told
from kernel_pytorch.perf.inspect.kernel_body import (
    descriptor_parameters,
    index_pointers,
    pointer_parameters,
    unit_strides,
)
from kernel_pytorch.port.python.gates import rocm_value
from kernel_pytorch.port.settings import listing_of

Launch = tuple[ast.Call, Surroundings]


@dataclass
class Parameter:
    """One parameter. `kind` is "pointer", "constexpr", "descriptor" or "scalar"; `value` what the source gives it."""

    name: str
    kind: str
    value: Any = None
    known: bool = False
    is_float: bool = False
    is_bool: bool = False
    is_index: bool = False  # what it points to is used in addresses
    element: str = ""  # Triton's name of a tensor's elements, where a launch says it


@dataclass
class FoundKernel:
    """A kernel somebody launches (a @triton.jit function only called by others is no kernel).

    `factory` is the top-level function that defines it and returns it, where it is not at the top level itself."""

    path: str
    line: int
    name: str
    parameters: list[Parameter] = field(default_factory=list)
    num_warps: int | None = None
    factory: str = ""


def python_files(root: Path) -> list[Path]:
    """The file itself, or every Python file under a folder that defines a kernel or may launch one of those."""
    if root.is_file():
        return [root]
    texts: dict[Path, bytes] = {}
    names: set[bytes] = set()
    for name in sorted(listing_of(root).names, key=lambda one: PurePosixPath(one).parts):
        path = root / name
        if not name.endswith(".py") or not path.is_file():
            continue
        data = path.read_bytes()
        if b"triton.jit" in data:
            texts[path] = data
            names.update(name.encode() for name in _kernel_names(data))
        elif b"](" in data:
            texts[path] = data
    # A launch may stand far from its kernel, in a file that does not name Triton at all.
    launching = re.compile(rb"\b(?:%s)\b" % b"|".join(map(re.escape, sorted(names)))) if names else None
    return [
        path
        for path, data in texts.items()
        if b"triton.jit" in data or (launching is not None and launching.search(data))
    ]


def _kernel_names(data: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    for function, factory in _jit_functions(tree):
        yield factory or function.name


def find_kernels(paths: list[Path]) -> list[FoundKernel]:
    """Every kernel that is launched somewhere in these files, with what the source says about its parameters."""
    trees = {path: tree for path in paths if (tree := _parse(path)) is not None}
    launched: dict[str, dict[Path, list[Launch]]] = {}
    for path, tree in trees.items():
        for name, call, around in launches(tree):
            launched.setdefault(name, {}).setdefault(path, []).append((call, around))
    found = []
    for path, tree in trees.items():
        for function, factory in _jit_functions(tree):
            by_file = launched.get(factory or function.name) or launched.get(function.name, {})
            if by_file or _has_decorator(function, "autotune"):
                # Another back end's kernel of the same name has launches of its own.
                calls = by_file.get(path) or [one for many in by_file.values() for one in many]
                found.append(_kernel(path, function, calls, factory))
    return found


def _parse(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except SyntaxError:
        return None


def _jit_functions(tree: ast.AST, factory: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    """The @triton.jit functions, each with the outermost function around it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and _has_decorator(node, "jit"):
            yield node, factory
        else:
            around = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else ""
            yield from _jit_functions(node, factory or around)


def _has_decorator(function: ast.FunctionDef, name: str) -> bool:
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr == name:
            return True
    return False


def _kernel(path: Path, function: ast.FunctionDef, calls: list[Launch], factory: str = "") -> FoundKernel:
    pointers, indices, units = pointer_parameters(function), index_pointers(function), unit_strides(function)
    descriptors = descriptor_parameters(function)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    defaults = dict(zip(reversed(arguments), reversed(function.args.defaults), strict=False))
    kernel = FoundKernel(str(path), function.lineno, function.name, factory=factory)
    for position, argument in enumerate(arguments):
        given = _given(calls, position, argument.arg)
        default = defaults.get(argument)
        if default is not None:
            given.append((default, Surroundings()))
        passed = best([told(value, around) for value, around in given])
        parameter = Parameter(argument.arg, "pointer" if argument.arg in pointers else "scalar")
        if argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation):
            parameter.kind = "constexpr"
            # None stands for "computed elsewhere" as often as for "absent".
            if passed.known and passed.kind != "none":
                parameter.value, parameter.known = passed.value, True
        elif passed.kind == "tensor":
            parameter.kind, parameter.element = "pointer", passed.element
        elif passed.kind in ("int", "float", "bool") and not argument.arg.lower().endswith("ptr"):
            parameter.kind = "scalar"
        if argument.arg in descriptors and parameter.kind != "constexpr":
            parameter.kind = "descriptor"
        parameter.is_index = parameter.kind == "pointer" and argument.arg in indices
        if parameter.kind == "scalar" and argument.arg in units:
            parameter.kind, parameter.value, parameter.known = "constexpr", 1, True
        parameter.is_float, parameter.is_bool = passed.kind == "float", passed.kind == "bool"
        kernel.parameters.append(parameter)
    for call, _ in calls:
        for keyword in call.keywords:
            # A number chosen by a gate (`16 if IS_ROCM else 32`) is the one an AMD GPU gets.
            value = keyword.value
            if isinstance(value, ast.IfExp) and (gate := rocm_value(value.test)) is not None:
                value = value.body if gate else value.orelse
            warps = value.value if isinstance(value, ast.Constant) else None
            if keyword.arg == "num_warps" and isinstance(warps, int):
                kernel.num_warps = warps
    return kernel


def _given(calls: list[Launch], position: int, name: str) -> list[tuple[ast.expr, Surroundings]]:
    given = []
    for call, around in calls:
        if position < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args):
            given.append((call.args[position], around))
        given += [(keyword.value, around) for keyword in call.keywords if keyword.arg == name]
    return given
