"""Files that are copied into a ported package. They import nothing of ours, and nothing of ours imports them.

A rule writes `from ._rocm_attention import x`, as if the adapter stood beside the file; `placed` finds out where it can
stand, once per package, and makes the import reach it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch

ADAPTERS = {f"_rocm_{name}": f"rocm_{name}.py" for name in ("attention", "nvml", "padding", "xformers")}
_NAMED = re.compile(
    rb"from \.(?: import (?P<whole>(?:%s))|(?P<part>(?:%s)) import)\b" % (("|".join(ADAPTERS).encode(),) * 2)
)
_RELATIVE = re.compile(rb"^\s*from \.+\w* import |^\s*from \.+ import ", re.MULTILINE)


@cache
def template(name: str) -> bytes:
    """The text of a template."""
    return files(__package__).joinpath(name).read_bytes()


@cache
def public_names(adapter: str) -> frozenset[str]:
    """What an adapter offers: its functions, classes and constants."""
    found = {"__version__"}
    for node in ast.parse(template(ADAPTERS[adapter])).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(name for name in found if not name.startswith("_") or name == "__version__")


def placed(root: Path, patches: Sequence[Patch], modules: Iterable[str] = ()) -> list[Patch]:
    """The patches with their adapters' imports made to reach, and the adapters as new files.

    In a package the adapter stands at its top; beside a script it stands beside it and is imported by its plain name.
    `modules` are the project's Python files: a folder without __init__.py that they import from is a package too.
    """
    listed = tuple(modules)
    done: list[Patch] = []
    new: dict[str, Patch] = {}
    for patch in patches:
        if patch.before is None or not _NAMED.search(patch.after):
            done.append(patch)
            continue
        home, dots = _home(root, patch, listed)
        for match in _NAMED.finditer(patch.after):
            name = (match["whole"] or match["part"]).decode()
            path = (home / f"{name}.py").as_posix()
            existing = root / path
            before = existing.read_bytes() if existing.is_file() else None
            new[path] = Patch(path, before, template(ADAPTERS[name]), patch.codes)
        done.append(replace(patch, after=_NAMED.sub(partial(_reaching, dots), patch.after)))
    return [*done, *(item for _, item in sorted(new.items()) if item.before != item.after)]


def _reaching(dots: int, match: re.Match[bytes]) -> bytes:
    name = match["whole"] or match["part"]
    if match["part"]:
        return b"from " + b"." * dots + name + b" import"
    return b"from " + b"." * dots + b" import " + name if dots else b"import " + name


def _home(root: Path, patch: Patch, modules: tuple[str, ...]) -> tuple[PurePosixPath, int]:
    """The folder of the adapter and the dots that lead there; 0 dots: by its plain name."""
    folder = PurePosixPath(patch.path).parent
    home, dots = folder, 1
    if (root / folder / "__init__.py").is_file():
        while home.parent != home and (root / home.parent / "__init__.py").is_file() and home.name:
            home, dots = home.parent, dots + 1
        return home, dots
    if _RELATIVE.search(patch.before or b"") or _is_imported_from(root, folder, modules):
        return folder, 1
    return folder, 0


def _is_imported_from(root: Path, folder: PurePosixPath, modules: tuple[str, ...]) -> bool:
    if not folder.name:
        return False
    pattern = re.compile(rb"^\s*(?:from|import) (?:[\w.]+\.)?" + re.escape(folder.name.encode()) + rb"\b", re.MULTILINE)
    return any(pattern.search((root / path).read_bytes()) for path in modules if (root / path).is_file())
