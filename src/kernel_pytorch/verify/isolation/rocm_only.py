"""Files that belong to ROCm alone: named so, and not reached from the NVIDIA path.

A change inside such a file cannot touch NVIDIA. The name alone is no proof: whatever else in the tree still names the
file after folding keeps it on the NVIDIA path.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import PurePosixPath

from kernel_pytorch.verify.isolation.cmake import fold_commands, read_commands
from kernel_pytorch.verify.isolation.cxx import SUFFIXES as CXX_SUFFIXES
from kernel_pytorch.verify.isolation.cxx import fold_source
from kernel_pytorch.verify.isolation.python_fold import UNREADABLE, fold_module
from kernel_pytorch.verify.isolation.python_gates import GateValues
from kernel_pytorch.verify.isolation.python_unused import is_rocm_function, is_used, uses
from kernel_pytorch.verify.isolation.trees import Tree

_ROCM_NAME = re.compile(r"(?:^|[/_.-])(?:rocm|hip|amd|aiter|gfx\d\w*|cdna\d?|rdna\d?)(?:[/_.-]|$)", re.IGNORECASE)


def is_named_for_rocm(path: str) -> bool:
    """`kernels/rocm/attention.py`, `moe_aiter.py`, `Dockerfile.rocm`."""
    return _ROCM_NAME.search(path) is not None


def who_reaches(path: str, tree: Tree) -> str | None:
    """A file that is not ROCm's own and still names this one on the NVIDIA path; None if there is none."""
    pure = PurePosixPath(path)
    word = pure.parent.name if pure.name == "__init__.py" else pure.stem
    for other in sorted(tree.mentioning(word)):
        if other == path or is_named_for_rocm(other) or _is_test(other):
            continue
        if _names(other, tree.read(other), pure, word):
            return other
    return None


def _is_test(path: str) -> bool:
    return any(part in ("tests", "test", "docs") for part in PurePosixPath(path).parts)


def _names(other: str, data: bytes, path: PurePosixPath, word: str) -> bool:
    suffix = PurePosixPath(other).suffix
    if suffix == ".py" and path.suffix == ".py":
        return _imports(data, PurePosixPath(other), path.parent if path.name == "__init__.py" else path.with_suffix(""))
    if suffix in CXX_SUFFIXES and path.suffix in CXX_SUFFIXES:
        try:
            return any(os.fsencode(path.name) in token.text for token in fold_source(data))
        except UNREADABLE:
            return True  # cannot be read, so it cannot be ruled out
    if other.endswith(("CMakeLists.txt", ".cmake")):
        commands = read_commands(data.decode("utf-8", errors="replace"))
        return commands is None or any(
            path.name in argument for command in fold_commands(commands) for argument in command.arguments
        )
    return False


def _imports(data: bytes, importer: PurePosixPath, module: PurePosixPath) -> bool:
    """Whether a file, once folded, imports a module: by a dotted name that ends like its path, or from beside it."""
    try:
        tree = _folded(data)
    except UNREADABLE:
        return True  # cannot be read, so it cannot be ruled out
    return any(_means(name, importer, module) for node in ast.walk(tree) for name in _dotted(node, importer))


def _folded(data: bytes) -> ast.Module:
    tree = ast.parse(data)
    return fold_module(tree, GateValues(tree, trusting=True))


def changed_functions(old: bytes, new: bytes) -> frozenset[str]:
    """The module-level functions of both sides that differ and are named for ROCm."""
    try:
        before, after = (_functions(ast.parse(data)) for data in (old, new))
    except UNREADABLE:
        return frozenset()
    return frozenset(name for name in before.keys() & after.keys() if ast.dump(before[name]) != ast.dump(after[name]))


def _functions(module: ast.Module) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    found = (item for item in module.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {item.name: item for item in found if is_rocm_function(item.name) and not item.decorator_list}


def unreached_functions(path: str, data: bytes, tree: Tree, wanted: frozenset[str]) -> frozenset[str]:
    """Which of some functions of a shared file, named for ROCm, nothing on the NVIDIA path uses.

    To import one is no use: what imports it from there is looked at as well.
    """
    try:
        module = _folded(data)
    except UNREADABLE:
        return frozenset()
    functions = {name: item for name, item in _functions(module).items() if name in wanted}
    left = {name for name in functions if not _named_elsewhere(name, path, tree)}
    while True:
        # One that is named outside of those that are left is reached, and so is what it names.
        rest = ast.Module([item for item in module.body if getattr(item, "name", None) not in left], [])
        reached = {name for name in left if is_used(rest, functions[name])}
        if not reached:
            return frozenset(left)
        left -= reached


def _named_elsewhere(name: str, path: str, tree: Tree) -> bool:
    for other in sorted(tree.mentioning(name)):
        if other == path or not other.endswith(".py") or _is_test(other):
            continue
        if is_named_for_rocm(other) and who_reaches(other, tree) is None:
            continue
        try:
            folded = _folded(tree.read(other))
        except UNREADABLE:
            return True
        if uses(folded, name):
            return True
    return False


def _dotted(node: ast.AST, importer: PurePosixPath) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    folder = importer.parent
    for _ in range(node.level - 1):
        folder = folder.parent
    base = ".".join((*folder.parts, *(node.module or "").split("."))) if node.level else node.module or ""
    return [base.strip("."), *(f"{base.strip('.')}.{alias.name}" for alias in node.names)]


def _means(name: str, importer: PurePosixPath, module: PurePosixPath) -> bool:
    parts, wanted = name.split("."), module.parts
    if len(parts) == 1:  # `import x` can mean a top-level module, or one beside the importer
        return wanted[-1] == name and (len(wanted) == 1 or importer.parent == module.parent)
    shared = min(len(parts), len(wanted))
    return tuple(parts[-shared:]) == wanted[-shared:]
