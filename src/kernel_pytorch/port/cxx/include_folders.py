"""Include folders that a project's build names and a reader of its sources does not see.

An #include that nothing resolves, and that ends the path of a header the project has or brings along, tells where its
folder is: `#include "Common.h"` and cuda/include/Common.h, `#include <glm/glm.hpp>` and third_party/glm/glm/glm.hpp.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.port.cxx.includes import Include, IncludeSearch, read_includes, search_folders

_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".cu")
_NO_NAMES_OF_C = (".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".cu")
_NOT_ENTERED = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist", "venv"})
# ROCm and torch bring these themselves, under these names or those that take their place.
_BROUGHT_ELSEWHERE = (
    "thrust/", "cub/", "cuda", "cooperative_groups", "cutlass/", "cute/", "hip", "roc", "torch/", "ATen/", "c10/",
    "pybind11/", "nv/", "sys/",
)  # fmt: skip
# A folder with a header of such a name, given by -I, would hide the C library's.
_OF_THE_C_LIBRARY = (
    "math.h", "string.h", "time.h", "limits.h", "float.h", "stdint.h", "stdlib.h", "stdio.h", "assert.h", "errno.h",
    "complex.h", "memory.h", "signal.h",
)  # fmt: skip


def compile_folders(root: Path, files: Iterable[Path], named: Sequence[str] = ()) -> tuple[Path, ...]:
    """The -I folders of a compiler: what the project names, the usual ones, what it brings along, and what its
    includes are otherwise meant to be looked up in."""
    brought = [folder for place in ("third_party", "external", "extern") for folder in sorted((root / place).glob("*"))]
    every = [*search_folders(root, [root / name for name in named]), *brought, *(one / "include" for one in brought)]
    folders = tuple(dict.fromkeys(folder for folder in every if folder.is_dir() and is_inside(folder, root)))
    inferred = inferred_folders(root, files, folders)
    return (*folders, *(root / folder.relative_to(root.resolve()) for folder in inferred))


def inferred_folders(
    root: Path,
    files: Iterable[Path],
    search: Sequence[Path] = (),
    read: Callable[[Path], Sequence[Include]] = read_includes,
) -> tuple[Path, ...]:
    """The folders that includes of `files` are meant to be looked up in, besides `search`, in the order found."""
    root = root.resolve()
    known = search_folders(root, search)
    headers = _Headers(root)
    found: dict[Path, None] = {}
    folders = IncludeSearch(known)
    seen: set[tuple[Path, str]] = set()
    for path in files:
        beside = path.parent
        for include in read(path):
            if not include.quoted and "/" not in include.name and not include.name.endswith(_NO_NAMES_OF_C):
                continue  # the system's: <getopt.h> also where the project has one of its own
            name = PurePosixPath(include.name)
            is_brought = include.name.startswith(_BROUGHT_ELSEWHERE) and not _is_beside(include, name)
            if ".." in name.parts or is_brought:
                continue
            if (beside, include.name) in seen:
                continue
            seen.add((beside, include.name))
            if folders.path(include, path) is None:
                folder = headers.folder_of(name, path)
                if folder is not None and folder not in found:
                    found[folder] = None
                    folders = IncludeSearch([*known, *found])
    return tuple(found)


def _is_beside(include: Include, name: PurePosixPath) -> bool:
    """`"cuda/kernels.cuh"`: a folder of the project's own, where CUDA's is asked for as <cuda/std/array>."""
    return include.quoted and len(name.parts) > 1 and name.parts[0] in ("cuda", "hip")


class _Headers:
    """The headers below a folder, third-party ones as well, listed when first asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def by_name(self) -> Mapping[str, list[Path]]:
        listed: dict[str, list[Path]] = defaultdict(list)
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in _NOT_ENTERED]
            for name in names:
                if name.endswith(_HEADER_SUFFIXES):
                    listed[name].append(Path(folder) / name)
        return listed

    def folder_of(self, name: PurePosixPath, includer: Path) -> Path | None:
        """The folder that `name` is relative to; of several, the one nearest to the file that includes it."""
        count = len(name.parts)
        folders = [
            header.parents[count - 1]
            for header in self.by_name.get(name.name, ())
            if header.parts[-count:] == name.parts
        ]
        beside = includer.resolve().parts
        folders = [one for one in folders if not any((one / known).is_file() for known in _OF_THE_C_LIBRARY)]
        return max(folders, key=lambda one: (_shared(one.parts, beside), -len(one.parts)), default=None)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count
