"""Finds vendor libraries for ctypes, the copy already in the process first.

Two copies of a GPU runtime in one process do not share contexts or streams, and PyTorch brings its own: what
torch has loaded, or would load, must win over what the system has.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def library_candidates(name: str, *, roots: Sequence[str], package_folders: Sequence[str] = ()) -> Iterator[str]:
    """Paths to try for `lib<name>.so`, best first.

    `roots` are installations (with lib, lib64 or targets/*/lib inside), `package_folders` glob patterns below
    site-packages.
    """
    seen: set[str] = set()
    for path in _all_candidates(name, roots, package_folders):
        if path not in seen:
            seen.add(path)
            yield path


def open_library(path: str, signatures: Mapping[str, Sequence[type]]) -> ctypes.CDLL:
    """A library whose functions, all returning a status, are these. Raises OSError where one is missing."""
    library = ctypes.CDLL(path)
    for name, arguments in signatures.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise OSError(f"{path} lacks {name}") from error
        function.argtypes = arguments
        function.restype = ctypes.c_int
    return library


def _all_candidates(name: str, roots: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    yield from _loaded(name)
    for folder in folders:
        for packages in _package_roots():
            for directory in sorted(packages.glob(folder), reverse=True):
                yield from _in_directory(directory, name)
    for root in roots:
        for pattern in ("lib", "lib64", "targets/*/lib"):
            for directory in sorted(Path(root).glob(pattern)):
                yield from _in_directory(directory, name)
    import ctypes.util  # brings subprocess along, and is the last resort

    found = ctypes.util.find_library(name)
    if found:
        yield found


def _loaded(name: str) -> Iterator[str]:
    """Copies of the library that this process has mapped already."""
    pattern = re.compile(rf"/lib{re.escape(name)}(-[0-9a-f]+)?\.so[.0-9]*$")
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return
    for line in maps.splitlines():
        path = line[line.find("/") :] if "/" in line else ""
        if pattern.search(path):
            yield path


def _in_directory(directory: Path, name: str) -> Iterator[str]:
    exact = directory / f"lib{name}.so"
    if exact.exists():
        yield str(exact)
    # Wheels ship only the versioned file. Newest version first.
    versioned = [path for path in directory.glob(f"lib{name}.so.*") if re.fullmatch(r".*\.so(\.\d+)+", path.name)]
    for path in sorted(versioned, key=_version, reverse=True):
        yield str(path)


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in path.name.split(".so.")[1].split("."))


def _package_roots() -> list[Path]:
    """The site-packages folders that hold torch or nvidia wheels, found without importing them."""
    roots: list[Path] = []
    for package in ("torch", "nvidia"):
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):  # ValueError: a stand-in module without a spec
            continue
        for location in (spec.submodule_search_locations or ()) if spec else ():
            parent = Path(os.fspath(location)).parent
            if parent not in roots:
                roots.append(parent)
    return roots
