"""New files that take the place of what an unchanged file names: `cuda_runtime.h` in a folder that is searched,
`yaml.py` beside a script."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from kernel_pytorch.verify.isolation.cxx import SUFFIXES as CXX_SUFFIXES
from kernel_pytorch.verify.isolation.python_fold import UNREADABLE
from kernel_pytorch.verify.isolation.trees import Tree

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
_SEARCHED_FOR_MODULES = ("", "src")


@dataclass(frozen=True)
class Before:
    """The old tree: its paths, those that are the same in the new one, and which files hold a word."""

    tree: Tree
    paths: frozenset[str]
    unchanged: frozenset[str]
    mentioning: Callable[[str], frozenset[str]]


def whose_place_it_takes(path: str, before: Before) -> str | None:
    """The unchanged file that names something which the new file at `path` could be, and how."""
    name = PurePosixPath(path)
    if name.suffix in CXX_SUFFIXES:
        for includer in sorted(before.mentioning(name.name) & before.unchanged):
            if PurePosixPath(includer).suffix in CXX_SUFFIXES and (found := _included(path, includer, before)):
                return f"{includer} includes {found}"
        return None
    if name.suffix != ".py":
        return None
    folder, word = _module(name)
    if not word.isidentifier():
        return None  # no statement imports it
    for importer in sorted(before.mentioning(word) & before.unchanged):
        is_found = importer.endswith(".py") and folder in (posixpath.dirname(importer), *_SEARCHED_FOR_MODULES)
        if is_found and word in _imported(importer, before.tree):
            return f"{importer} imports {word}"
    return None


def _included(path: str, includer: str, before: Before) -> str | None:
    """What a file includes that a new header could be found for: beside the file, or in a folder that is searched."""
    folder = posixpath.dirname(includer)
    for mark, text in _INCLUDE.findall(before.tree.read(includer)):
        written = text.decode("utf-8", "replace").strip()
        beside = posixpath.normpath(posixpath.join(folder, written))
        if mark == b'"' and beside in before.paths:
            continue  # found there first, before and after
        wanted = posixpath.normpath(written)
        if path == beside or f"/{path}".endswith(f"/{wanted}"):
            return f"<{written}>" if mark == b"<" else f'"{written}"'
    return None


def _module(name: PurePosixPath) -> tuple[str, str]:
    """The folder that a Python file, or a package by its __init__.py, would be imported from, and its name there."""
    place = name.parent if name.name == "__init__.py" else name.with_suffix("")
    folder = place.parent.as_posix()
    return ("" if folder == "." else folder), place.name


def _imported(path: str, old: Tree) -> frozenset[str]:
    """The first names of what a file imports, relative imports apart."""
    try:
        tree = ast.parse(old.read(path))
    except UNREADABLE:
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.split(".")[0])
    return frozenset(names)
