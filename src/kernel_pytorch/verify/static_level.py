"""Static level: what the rules still find, Python that compiles, imports of the project's own that resolve."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import CheckResult, Finding, Safety, Status
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.discover import Project
from kernel_pytorch.verify.isolation.trees import Tree
from kernel_pytorch.verify.levels import NOTHING_TO_CHECK, LevelResult

_LISTED = 5


def static_level(project: Project, findings: Sequence[Finding], before: Tree | None = None) -> LevelResult:
    """`findings` are what `kpt scan` finds in the ported project. `before` is the project before the port: what is
    broken there in the same way is not the port's doing."""
    if not project.count and not findings:
        check = CheckResult(NOTHING_TO_CHECK, Status.PASS, "the folder has no file that kpt reads")
        return LevelResult("static", (check,))
    paths = before.paths() if before is not None else frozenset[str]()
    old = _Before(before, paths)
    return LevelResult("static", (*_leftovers(findings), _python_compiles(project, old), _own_imports(project, old)))


@dataclass(frozen=True)
class _Before:
    """The project before the port, where it is known."""

    tree: Tree | None
    paths: Collection[str]

    def read(self, path: str) -> bytes | None:
        return self.tree.read(path) if self.tree is not None and path in self.paths else None

    def has_module(self, place: str) -> bool:
        """Whether a file or a folder of that name was there, whatever its ending."""
        return any(path.startswith((f"{place}.", f"{place}/")) for path in self.paths)


def _leftovers(findings: Sequence[Finding]) -> tuple[CheckResult, ...]:
    unported = [finding for finding in findings if finding.edits and finding.safety is Safety.SAFE]
    open_ones = [finding for finding in findings if finding not in unported]
    checks = []
    if unported:
        detail = f"`kpt port` would still change {counted(len(unported), 'place')}: {_by_code(unported)}"
        checks.append(CheckResult("CUDA-only code", Status.FAIL, detail, fix=("kpt port --write",)))
    if open_ones:
        detail = f"{counted(len(open_ones), 'finding')} left for a person: {_by_code(open_ones)}"
        fix = ("decide each, or mark it: kpt: ignore[CODE] reason",)
        checks.append(CheckResult("findings", Status.WARN, detail, fix=fix))
    if not checks:
        checks.append(CheckResult("findings", Status.PASS, "no rule finds anything on the ROCm path"))
    return tuple(checks)


def _by_code(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.code for finding in findings).most_common()
    text = ", ".join(f"{code} x {number}" for code, number in counts[:_LISTED])
    return text + (f" and {len(counts) - _LISTED} more codes" if len(counts) > _LISTED else "")


def _python_compiles(project: Project, before: _Before) -> CheckResult:
    broken = []
    is_ours = False
    paths = project.of("python")
    for path in paths:
        try:
            ast.parse(data := read_bytes(project.root / path, project.root), filename=path)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            broken.append(f"{path}:{getattr(error, 'lineno', 0) or 0}: {error}")
            is_ours |= before.read(path) != data
    if broken:
        return _judged("Python compiles", "; ".join(broken[:_LISTED]), is_ours)
    return CheckResult("Python compiles", Status.PASS, counted(len(paths), "file"))


def _judged(check: str, detail: str, is_ours: bool) -> CheckResult:
    """A failure, or a warning where the project had it before the port."""
    if is_ours:
        return CheckResult(check, Status.FAIL, detail)
    return CheckResult(check, Status.WARN, f"as before the port: {detail}")


def _own_imports(project: Project, before: _Before) -> CheckResult:
    """Relative imports must name a module of the project: a generated adapter that was not written is found here."""
    missing = []
    is_ours = False
    for path in project.of("python"):
        try:
            tree = ast.parse(read_bytes(project.root / path, project.root))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        absent = list(_unresolved(project.root, Path(path), tree))
        missing += [f"{path}:{line}: {name}" for line, name, _ in absent]
        imported = _imported(before.read(path) if absent else None)
        is_ours |= any(name not in imported or before.has_module(place) for _, name, place in absent)
    if missing:
        return _judged("imports", f"not there: {'; '.join(missing[:_LISTED])}", is_ours)
    return CheckResult("imports", Status.PASS, "every relative import names a module of the project")


def _imported(data: bytes | None) -> set[str]:
    """What the file imported relatively before the port."""
    try:
        tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {"." * one.level + (one.module or "") for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}


def _unresolved(root: Path, path: Path, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The line and the name of every relative import without a file, and the path that it looks for."""
    guarded = {id(node) for block in ast.walk(tree) if isinstance(block, ast.Try) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in guarded or node.module is None:
            continue
        folder = (root / path).parent
        for _ in range(node.level - 1):
            folder = folder.parent
        place = folder.joinpath(*node.module.split("."))
        built = any(place.parent.glob(f"{place.name}.*")) or place.is_dir()
        if not built and not _is_generated(place):
            yield node.lineno, "." * node.level + node.module, os.path.relpath(place, root)


def _is_generated(place: Path) -> bool:
    # Compiled extensions and version files appear at build time: their names are known by convention only.
    return place.name.startswith("_C") or place.name in ("_version", "version", "_ext")
