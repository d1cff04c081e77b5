"""What `requires-python` means for the chosen interpreter, and whether the code needs it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.deps.imports import MAX_FILE_BYTES, python_files
from kernel_pytorch.port.deps.model import PythonNote, PythonRange

MAX_FILES = 1500
_NEW_MODULES = {"tomllib": (3, 11), "zoneinfo": (3, 9), "graphlib": (3, 9), "annotationlib": (3, 14)}
_NEW_NAMES = {
    ("typing", "Self"): (3, 11), ("typing", "assert_never"): (3, 11), ("typing", "Never"): (3, 11),
    ("typing", "StrEnum"): (3, 11), ("enum", "StrEnum"): (3, 11), ("datetime", "UTC"): (3, 11),
    ("typing", "Unpack"): (3, 11), ("typing", "NotRequired"): (3, 11), ("typing", "Required"): (3, 11),
    ("typing", "TypeVarTuple"): (3, 11), ("typing", "LiteralString"): (3, 11), ("typing", "override"): (3, 12),
    ("itertools", "batched"): (3, 12), ("typing", "TypeIs"): (3, 13), ("warnings", "deprecated"): (3, 13),
    ("typing", "TypeAlias"): (3, 10), ("typing", "ParamSpec"): (3, 10), ("itertools", "pairwise"): (3, 10),
}  # fmt: skip
_NEW_ATTRIBUTES = {
    b"enum.StrEnum": (3, 11), b"typing.Self": (3, 11), b"asyncio.TaskGroup": (3, 11), b"asyncio.timeout(": (3, 11),
    b"datetime.UTC": (3, 11), b"typing.override": (3, 12), b"itertools.batched": (3, 12),
    b"itertools.pairwise": (3, 10),
}  # fmt: skip


def python_note(constraint: PythonRange, running: str, root: Path) -> PythonNote | None:
    """A note if the interpreter is outside the range, or the lower bound looks merely conservative."""
    try:
        allowed_versions = SpecifierSet(constraint.specifier)
    except InvalidSpecifier:
        return None
    origin = f"{constraint.path}:{constraint.line}"
    allowed = allowed_versions.contains(running, prereleases=True)
    lower = _lower_bound(allowed_versions)
    here = (Version(running).major, Version(running).minor)
    flag = "pip install --no-deps --ignore-requires-python"
    if allowed:
        # Below 3.10 much of what a version brought is not visible in the syntax (`X | Y` in annotations).
        if lower is None or lower <= (3, 10) or lower[0] != 3:
            return None
        older = (3, lower[1] - 1)
        files, too_new = _newer_than(root, older, lower)
        if too_new or not files:
            return None
        text = (
            f"looks conservative: no syntax or standard module newer than Python {older[0]}.{older[1]} found in "
            f"{_counted(files)}; an older interpreter may do ({flag})"
        )
        return PythonNote(constraint.specifier, origin, running, True, True, text)
    if lower is not None and here < lower:
        files, too_new = _newer_than(root, here, lower)
        if too_new:
            text = f"Python {running} is too old: {too_new}"
            return PythonNote(constraint.specifier, origin, running, False, False, text)
        text = f"Python {running} is below the range, but {_counted(files)} use nothing newer than it: try {flag}"
        return PythonNote(constraint.specifier, origin, running, False, True, text)
    text = (
        f"Python {running} is outside the range; such a limit is usually about the wheels of the pinned versions, "
        f"not the code: {flag}"
    )
    return PythonNote(constraint.specifier, origin, running, False, None, text)


def _counted(files: int) -> str:
    return f"the first {files} files" if files >= MAX_FILES else f"{files} files"


def _lower_bound(specifiers: SpecifierSet) -> tuple[int, int] | None:
    bounds = []
    for one in specifiers:
        match = re.match(r"^(\d+)\.(\d+)", one.version)
        if match and one.operator in {">=", "==", "~=", ">"}:
            bounds.append((int(match[1]), int(match[2])))
    return max(bounds, default=None)


def _newer_than(root: Path, version: tuple[int, int], lower: tuple[int, int]) -> tuple[int, str]:
    """(files looked at, first thing found that needs, or may need, a newer Python than `version`)."""
    base = root if root.is_dir() else root.parent
    count = 0
    for path in python_files(base):
        if count >= MAX_FILES:
            break
        try:
            source = read_bytes(path, limit=MAX_FILE_BYTES)
            tree = ast.parse(source, feature_version=version)
        except OSError:
            continue
        except (SyntaxError, ValueError) as error:
            try:
                ast.parse(source)
            except (SyntaxError, ValueError):
                if sys.version_info[:2] >= lower:
                    continue  # Not valid for the Python it asks for either: says nothing about versions.
                reader = f"Python {sys.version_info.major}.{sys.version_info.minor}"
                return count, f"{path.relative_to(base).as_posix()} does not parse with {reader}"
            line = getattr(error, "lineno", 1)
            return count, f"{path.relative_to(base).as_posix()}:{line} needs newer syntax ({error})".replace("\n", " ")
        count += 1
        for attribute, since in _NEW_ATTRIBUTES.items():
            if since > version and attribute in source:
                line = source[: source.index(attribute)].count(b"\n") + 1
                named = f"{attribute.decode().rstrip('(')} (Python {since[0]}.{since[1]})"
                return count, f"{path.relative_to(base).as_posix()}:{line} uses {named}"
        if found := _new_imports(tree, version):
            return count, f"{path.relative_to(base).as_posix()}:{found}"
    return count, ""


def _new_imports(tree: ast.Module, version: tuple[int, int]) -> str:
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                since = _NEW_MODULES.get(alias.name)
                if since and since > version:
                    return f"{node.lineno} imports {alias.name} (Python {since[0]}.{since[1]})"
        elif isinstance(node, ast.ImportFrom) and node.module:
            since = _NEW_MODULES.get(node.module)
            if since and since > version:
                return f"{node.lineno} imports {node.module} (Python {since[0]}.{since[1]})"
            for alias in node.names:
                since = _NEW_NAMES.get((node.module, alias.name))
                if since and since > version:
                    return f"{node.lineno} imports {node.module}.{alias.name} (Python {since[0]}.{since[1]})"
    return ""
