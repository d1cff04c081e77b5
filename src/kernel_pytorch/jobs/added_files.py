"""Files of ours that a user asks for by name: they go into the project's largest package."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_if_there

if TYPE_CHECKING:
    from kernel_pytorch.port.discover import Project

GUARD = "rocm_compile_guard.py"
# By name: the file, its template, and the rule whose page says what it is for.
ADDED = {
    "fp8": ("_rocm_fp8.py", "rocm_fp8.py", "KP543"),
    "graph-check": ("_rocm_graph_check.py", "rocm_graph_check.py", "KP701"),
    "compile-guard": (GUARD, GUARD, "KP602"),
}
_NOT_PACKAGES = ("tests", "test", "examples", "docs", "benchmarks", "scripts")


def added_files(project: Project, names: Sequence[str], taken: Collection[str]) -> Iterator[Patch]:
    """A patch for every file asked for that the project does not have yet. `taken` are paths of other patches."""
    from kernel_pytorch.port.templates import template

    home = _largest_package(project)
    for name, source, code in (ADDED[name] for name in names):
        path = (home / name).as_posix()
        before = read_if_there(project.root / path, project.root)
        after = template(source)
        if before != after and path not in taken:
            yield Patch(path, before, after, (code,))


def _largest_package(project: Project) -> PurePosixPath:
    """The top-level package with the most files; the project's root where there is none."""
    packages = [PurePosixPath(path).parent for path in project.of("python") if path.endswith("__init__.py")]
    tops = [folder for folder in packages if folder.parent not in packages and folder.name not in ("", *_NOT_PACKAGES)]
    sizes = {top: sum(PurePosixPath(path).is_relative_to(top) for path in project.of("python")) for top in tops}
    return max(sorted(sizes), key=sizes.__getitem__) if sizes else PurePosixPath()
