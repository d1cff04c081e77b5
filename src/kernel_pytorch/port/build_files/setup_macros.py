"""Macros that a setup.py defines for its extension: a build that leaves them out compiles another program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from kernel_pytorch.core.read_file import read_bytes

_OTHER_SYSTEM = re.compile(r"'nt'|win32|Windows|darwin|Darwin|\bWINDOWS\b|IS_WIN")

_TAKEN_BACK = re.compile(rb"-U__(?:CUDA|HIP)_(NO_(?:HALF|BFLOAT16)\w+__)")


def declared_macros(setup: Path) -> tuple[str, ...]:
    """NAME or NAME=VALUE of every pair in `define_macros`, in whatever way the list is put together.

    Pairs behind a question about Windows or macOS are left out. What is not written as a plain string is unknown, and
    left out too.
    """
    try:
        tree = ast.parse(read_bytes(setup))
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(dict.fromkeys(_macros(tree)))


def undefined_macros(setup: Path) -> tuple[str, ...]:
    """HIP's names of the macros that a setup.py takes back: torch forbids __half's operators, projects want them."""
    try:
        text = read_bytes(setup)
    except OSError:
        return ()
    named = (found.decode() for found in _TAKEN_BACK.findall(text))
    return tuple(dict.fromkeys(f"__HIP_{name}" for name in named))


def _macros(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and _OTHER_SYSTEM.search(ast.unparse(node.test)):
        for other in node.orelse:
            yield from _macros(other)
        return
    for value in _lists(node):
        for pair in ast.walk(value):
            if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
                yield from _written(pair.elts[0], pair.elts[1])
    for child in ast.iter_child_nodes(node):
        yield from _macros(child)


def _lists(node: ast.AST) -> Iterator[ast.AST]:
    """What goes into a list of macros: `define_macros=`, `define_macros = / +=`, `define_macros.append(...)`."""
    named = (
        (isinstance(node, ast.keyword) and node.arg == "define_macros")
        or (isinstance(node, ast.Assign) and any(_is_macros(target) for target in node.targets))
        or (isinstance(node, (ast.AugAssign, ast.AnnAssign)) and _is_macros(node.target))
    )
    value = getattr(node, "value", None)
    if named and isinstance(value, ast.AST):
        yield value
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("append", "extend")
        and _is_macros(node.func.value)
    ):
        yield from node.args


def _is_macros(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.endswith("macros")


def _written(name: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(name, ast.Constant) and isinstance(name.value, str) and isinstance(value, ast.Constant):
        if value.value is None:
            yield name.value
        elif isinstance(value.value, str):
            yield f"{name.value}={value.value}"
