"""Imports looked up in port/tables/libraries_python.csv: the rules that only say what to do about a library."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.python.gated_import import is_for_other_hardware, is_optional, is_own_package
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.tables import read_table


@dataclass(frozen=True)
class Library:
    """One row: a module, the code that reports it and what to do."""

    module: str
    code: str
    note: str


@cache
def libraries(code: str) -> dict[str, Library]:
    """The rows of one code by module."""
    rows = (Library(row["module"], row["code"], row["note"]) for row in read_table("libraries_python.csv"))
    return {row.module: row for row in rows if row.code == code}


def triggers(code: str) -> tuple[bytes, ...]:
    """The byte strings without which a file holds none of them."""
    return tuple(sorted({module.split(".")[0].encode() for module in libraries(code)}))


def library_findings(module: PythonModule, rule: Rule) -> Iterator[Finding]:
    """Each library once per file, at its first import that the program does not already do without."""
    if is_for_other_hardware(module):
        return
    rows = libraries(rule.code)
    reported: set[str] = set()
    for node, name in _imports(module):
        row = _row(rows, name)
        if row is None or row.module in reported or is_own_package(module, row.module.split(".")[0]):
            continue
        if module.is_import_guarded(node) or module.is_type_checking_only(node) or is_optional(module, node):
            continue
        reported.add(row.module)
        yield rule.finding(module.src, module.span(node), f"{row.module}: {row.note}")


def _imports(module: PythonModule) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Import statements with each dotted name they can mean: `from numba import cuda` is numba.cuda."""
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in sorted(nodes, key=lambda item: item.lineno):
        if (isinstance(node, ast.ImportFrom) and node.level) or not module.reached_on_rocm(node):
            continue
        for alias in node.names:
            yield node, f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name


def _row(rows: dict[str, Library], name: str) -> Library | None:
    parts = name.split(".")
    return next((rows[key] for end in range(len(parts), 0, -1) if (key := ".".join(parts[:end])) in rows), None)
