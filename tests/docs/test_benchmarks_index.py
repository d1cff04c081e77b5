"""The index of benchmarks names every script, and no script that is not there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SOURCES = BENCHMARKS.parent / "src"


def test_the_index_names_every_script() -> None:
    named = set(re.findall(r"`(\w+\.py)`", (BENCHMARKS / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in BENCHMARKS.glob("*.py")}


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.name)
def test_what_a_script_imports_from_the_package_is_there(script: Path) -> None:
    """No test runs these scripts, so a function that moves would break them unseen."""
    for node in ast.walk(ast.parse(script.read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernel_pytorch."):
            for name in node.names:
                assert is_defined(str(node.module), name.name), f"{script.name}: {node.module} has no {name.name}"


def is_defined(module: str, name: str) -> bool:
    folder = SOURCES / module.replace(".", "/")
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    if not file.is_file():
        return False
    is_module = (folder / f"{name}.py").is_file() or (folder / name).is_dir()
    bound = bound_names(ast.parse(file.read_bytes()).body)
    # A package that imports on first use names its parts in a table.
    is_lazy = "__getattr__" in bound and f'"{name}"' in file.read_text(encoding="utf-8")
    return is_module or is_lazy or name in bound


def bound_names(body: list[ast.stmt]) -> list[str]:
    names: list[str] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        elif isinstance(node, (ast.If, ast.Try)):
            names += bound_names([*node.body, *node.orelse])
    return names
