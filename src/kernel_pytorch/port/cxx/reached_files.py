"""The files of a project that a source reaches by #include, and all that a copy of them needs to be found again.

A compiler follows the words of an #include through the file system: `detail/../a.h` needs a folder `detail`, `inc/a.h`
needs `inc` even where that is a link. Whoever copies the files needs these folders and links too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.project_folder import project_folder
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.cxx.includes import (
    IncludeSearch,
    includes_of,
    is_third_party,
    search_folders,
    third_party_folder,
)


@dataclass(frozen=True)
class OutsideInclude:
    """An #include of a file that is there and does not belong to the project: it was not read."""

    includer: Path
    line: int
    name: str
    project: Path

    def __str__(self) -> str:
        return (
            f"{self.name} lies outside the project, {self.project}, and was not read; "
            "if kpt may read it, name its folder with -I"
        )


@dataclass(frozen=True)
class ReachedFiles:
    """The files, links followed, with their bytes, in the order of first inclusion; the first is the main file.

    `root` holds everything else here. `main` is the main file with its own name, which may be a link's. `links` are
    the links on the way and where they lead; `foreign` are folders of somebody else's code, which are not read.
    `looked_in` are the folders besides `search` that a compiler has to be told of: an #include counts on them.
    """

    root: Path
    main: Path
    files: dict[Path, bytes]
    folders: frozenset[Path]
    links: dict[Path, Path]
    foreign: frozenset[Path]
    outside: tuple[OutsideInclude, ...]
    looked_in: tuple[Path, ...]


def reached_files(path: Path, search: Sequence[Path] = (), project: Path | None = None) -> ReachedFiles:
    """The main file and every header of its project that it reaches; `search` are the -I folders.

    Files of the project are followed, and files below the lowest folder that holds the source and all of `search`:
    whoever names a folder may read it. `project` is the one that `project_folder` finds where it is not given.
    """
    main = path.parent.resolve() / path.name
    own = project.resolve() if project is not None else project_folder(main)
    named = [folder.resolve() for folder in search]
    lowest = Path(os.path.commonpath([main.parent, *named]))
    walk = _Walk(main.resolve(), (own, lowest), IncludeSearch(search_folders(lowest, named)))
    if main.is_symlink():
        walk.links[main] = main.resolve()
    walk.follow(main)
    root = Path(os.path.commonpath([lowest, *walk.passed, *(file.parent for file in walk.files)]))
    folders = frozenset(folder for folder in walk.passed if not walk.is_foreign(folder / "file"))
    return ReachedFiles(
        root, main, walk.files, folders, walk.links, frozenset(walk.foreign), tuple(dict.fromkeys(walk.outside)),
        tuple(folder for folder in walk.looked_in if folder not in named),
    )  # fmt: skip


class _Walk:
    """What was seen so far of one source's includes."""

    def __init__(self, main: Path, areas: tuple[Path, ...], search: IncludeSearch) -> None:
        self._main = main
        self._areas = areas
        self._search = search
        self.files: dict[Path, bytes] = {}
        self.passed: set[Path] = set()
        self.links: dict[Path, Path] = {}
        self.foreign: set[Path] = set()
        self.outside: list[OutsideInclude] = []
        self.looked_in: dict[Path, None] = {}

    def follow(self, main: Path) -> None:
        """Reads a file and what it reaches. A file is looked at once for every folder that it has a name in."""
        seen: set[Path] = set()
        pending = [main]
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            real = at.resolve()
            try:
                data = self.files[real] if real in self.files else read_bytes(real)
            except OSError:
                continue
            self.files[real] = data
            pending.extend(reversed(self._included(at, data)))

    def _included(self, at: Path, data: bytes) -> list[Path]:
        """The files of the project that a file includes, each with the name it is included by."""
        reached = []
        for include in includes_of(data):
            found = self._search.path(include, at)
            if found is None:
                continue
            place, folders, links = _way(found)
            real = place.resolve()
            if not any(real.is_relative_to(area) for area in self._areas):
                line = data.count(b"\n", 0, include.start) + 1
                self.outside.append(OutsideInclude(at, line, include.name, self._areas[0]))
                continue
            self.passed |= folders
            self.links |= links
            if found != os.path.join(at.parent, include.name):  # noqa: PTH118
                self.looked_in[Path(found.removesuffix(include.name))] = None
            if self.is_foreign(real):
                area = self._area_of(real)
                self.foreign.add(area / third_party_folder(real.relative_to(area)))
            else:
                reached.append(place)
        return reached

    def is_foreign(self, file: Path) -> bool:
        """Whether a file is somebody else's. Beside a source of theirs that the user names it is not."""
        area = self._area_of(file)
        relative = file.relative_to(area) if file.is_relative_to(area) else Path()
        return is_third_party(relative) and not self._main.is_relative_to(area / third_party_folder(relative))

    def _area_of(self, file: Path) -> Path:
        return next((area for area in self._areas if file.is_relative_to(area)), self._areas[0])


def _way(path: str) -> tuple[Path, set[Path], dict[Path, Path]]:
    """A file with the folder that it has its name in; the folders where the way there turns; the links on it."""
    folders: set[Path] = set()
    links: dict[Path, Path] = {}
    first, *above, name = Path(path).parts
    here = Path(first)
    for part in above:
        if part == os.pardir:
            folders |= {here, here.parent}
            here = here.parent
            continue
        here /= part
        if here.is_symlink():
            folders.add(here.parent)
            links[here] = here = here.resolve()
    place = here / name
    if place.is_symlink():
        links[place] = place.resolve()
    return place, {*folders, here}, links
