"""Other modules of the same project, found by the dotted name that an import gives them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.source import SourceFile

# A folder of the project may be called like one of these; an import of the name means the library.
_LIBRARIES = frozenset(sys.stdlib_module_names) | {"torch", "triton", "numpy", "transformers", "flash_attn", "aiter"}
_MAX_BYTES = 2_000_000
_KEPT = 64  # files whose text is kept, so that it is not read again for every name


def is_library(name: str) -> bool:
    """Whether the first word of an import surely means a library, whatever the project calls its folders."""
    return name in _LIBRARIES


def find_module(module: PythonModule, dotted: str) -> tuple[PythonModule, tuple[str, ...]] | None:
    """The project's module that a dotted name begins with, and what is left of the name."""
    root = module.src.project_root
    parts = tuple(dotted.split("."))
    if root is None or parts[0] in _LIBRARIES or not all(part.isidentifier() for part in parts):
        return None
    for home in _homes(PurePosixPath(module.src.path)):
        for length in range(len(parts), 0, -1):
            base = home.joinpath(*parts[:length])
            for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
                if path.as_posix() == module.src.path or not _is_there(root, path.as_posix()):
                    continue
                found = _parsed(root, path.as_posix(), module.src.project_packages)
                return None if found is None else (found, parts[length:])
    return None


def _homes(path: PurePosixPath) -> Iterator[PurePosixPath]:
    """The folders that absolute imports may count from: a script's own, those around it, and the usual ones."""
    yield from path.parents
    yield from (PurePosixPath(name) for name in ("src", "python"))


@lru_cache(maxsize=20_000)
def _is_there(root: Path, path: str) -> bool:
    try:
        return (root / path).is_file()
    except OSError:
        return False


def _parsed(root: Path, path: str, packages: frozenset[str]) -> PythonModule | None:
    source = _source(root, path, packages)
    return None if source is None else python_module(source)


@lru_cache(maxsize=_KEPT)
def _source(root: Path, path: str, packages: frozenset[str]) -> SourceFile | None:
    try:
        return SourceFile(path, read_bytes(root / path, root, _MAX_BYTES), "python", packages, root)
    except OSError:
        return None
