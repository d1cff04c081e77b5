"""#include lines, and the files of the project that they name.

Includes are resolved inside the project only. Third-party folders are left alone: their own HIP support, if any, is
theirs to switch on.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.cxx.source import CxxFile, read_once

# Not `submodules`: files of a real submodule are not listed by git, and what a project has checked in there it builds.
THIRD_PARTY_FOLDERS = frozenset({
    "third_party", "third-party", "thirdparty", "3rdparty", "external", "externals", "extern", "vendor", "vendored",
    "cutlass", "node_modules", ".git",
})  # fmt: skip

# Without the beginning of the line: Python finds the `#` by itself, and looks at every byte for a `^`.
_INCLUDE = re.compile(rb"#[ \t]*(?:include|include_next|import)[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)")


# Where a project's own headers usually are: its root and these folders of it.
USUAL = (".", "include", "src", "csrc")


@dataclass(frozen=True)
class Include:
    """One #include: the name as written and the bytes of the quoted part, delimiters included."""

    name: str
    quoted: bool
    start: int
    end: int


def search_folders(root: Path, named: Sequence[Path] = ()) -> list[Path]:
    """Where an #include of a project's file is looked for: the folders its build names, then the usual ones."""
    return [*named, *(root / folder for folder in USUAL)]


def includes_of(data: bytes) -> list[Include]:
    """The #include lines of a file, in order."""
    found = []
    for match in _INCLUDE.finditer(data):
        if data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()].strip(b" \t"):
            continue
        group = 1 if match.group(1) is not None else 2
        name = match.group(group).decode("utf-8", "surrogateescape").strip()
        found.append(Include(name, group == 1, match.start(group) - 1, match.end(group) + 1))
    return found


@read_once
def includes_in(src: CxxFile) -> list[Include]:
    """The same for a file that many ask."""
    return includes_of(src.data)


def read_includes(path: Path) -> list[Include]:
    """The #include lines of a file on disk; none where it cannot be read."""
    try:
        return includes_of(read_bytes(path))
    except OSError:
        return []


def is_third_party(relative: PurePosixPath | Path) -> bool:
    """Whether a path inside a project lies in a folder of somebody else's code."""
    return any(part.lower() in THIRD_PARTY_FOLDERS for part in relative.parts[:-1])


def third_party_folder(relative: PurePosixPath | Path) -> PurePosixPath:
    """The folder of somebody else's code that a path lies in: `csrc/third_party` of csrc/third_party/glm/a.hpp."""
    count = next(number for number, part in enumerate(relative.parts, 1) if part.lower() in THIRD_PARTY_FOLDERS)
    return PurePosixPath(*relative.parts[:count])


class IncludeSearch:
    """The folders that #includes are looked up in. What they hold is asked once for each name."""

    def __init__(self, folders: Sequence[Path]) -> None:
        # Strings: a project's includes are many, its folders several, and a Path takes ten times as long.
        self._folders = [os.fspath(folder) for folder in folders]
        self._known: dict[str, str | None] = {}
        self._real: dict[str, Path] = {}
        self._listed: dict[str, frozenset[str] | None] = {}

    def path(self, include: Include, includer: Path) -> str | None:
        """The project file an #include names, or None: quotes start beside the includer, angles at the folders."""
        folder = os.path.dirname(includer) or "."  # noqa: PTH120
        if include.quoted and (beside := self._file_in(folder, include.name)) is not None:
            return beside
        found = self._in_folders(include.name)
        return self._file_in(folder, include.name) if found is None and not include.quoted else found

    def resolved(self, include: Include, includer: Path) -> Path | None:
        """The same, links followed."""
        found = self.path(include, includer)
        if found is None:
            return None
        if found not in self._real:
            self._real[found] = Path(os.path.realpath(found))
        return self._real[found]

    def _in_folders(self, name: str) -> str | None:
        if name not in self._known:
            candidates = (self._file_in(folder, name) for folder in self._folders)
            self._known[name] = next((path for path in candidates if path is not None), None)
        return self._known[name]

    def _file_in(self, folder: str, name: str) -> str | None:
        """The path of a file by its name in a folder, where there is one."""
        first = _PLAIN_PART.match(name)
        if first is not None:
            # Most names are those of the system's headers: one look into the folder answers for all of them.
            if folder not in self._listed:
                self._listed[folder] = _names_in(folder)
            names = self._listed[folder]
            if names is not None and first[1].lower() not in names:
                return None
        path = os.path.join(folder, name)  # noqa: PTH118
        try:
            return path if stat.S_ISREG(os.stat(path).st_mode) else None  # noqa: PTH116
        except (OSError, ValueError):
            return None


# Names whose first part is in its folder's listing if anything is. It is compared in small letters: some systems do not
# tell them from capitals.
_PLAIN_PART = re.compile(r"(\w[\w+.-]*)(?:/|\Z)", re.ASCII)


def _names_in(folder: str) -> frozenset[str] | None:
    try:
        return frozenset(name.lower() for name in os.listdir(folder))  # noqa: PTH208
    except FileNotFoundError:
        return frozenset()
    except OSError:  # a folder may be open to those who know the names in it
        return None


def resolve_include(include: Include, includer: Path, search: Sequence[Path]) -> Path | None:
    """The project file an #include names, links followed, or None."""
    return IncludeSearch(search).resolved(include, includer)


def include_closure(
    main: Path, root: Path, search: Sequence[Path] = (), read: Callable[[Path], bytes] = read_bytes
) -> dict[Path, bytes]:
    """The main file and every project header it reaches, with their bytes, in the order of first inclusion.

    Only files below `root`, outside third-party folders, are followed. `search` are the -I folders; those of the
    project that people forget to name (the root, its include folders) are tried after them.
    """
    root = root.resolve()
    folders = IncludeSearch(search_folders(root, search))
    seen: dict[Path, bytes] = {}
    pending = [main.resolve()]
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        try:
            data = read(path)
        except OSError:
            continue
        seen[path] = data
        reached = []
        for include in includes_of(data):
            found = folders.resolved(include, path)
            if found is None or found in seen or not found.is_relative_to(root):
                continue
            if not is_third_party(found.relative_to(root)):
                reached.append(found)
        pending.extend(reversed(reached))
    return seen
