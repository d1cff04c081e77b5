"""Where the header of the single-source layout stands, so that every file reaches it and an installed one still does.

Files below a folder named `include` are installed as they lie: they get a header of their own among them. All others
share one, in the folder that holds them all. A header that is there already stays where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.cuda.compat_header import Needs, compat_header, needs_in
from kernel_pytorch.port.cuda.translate import COMPAT_HEADER

_NAMED = f'"{COMPAT_HEADER}"'.encode()


def with_compat_header(
    root: Path, patches: Sequence[Patch], needs: Sequence[Needs], listed: Iterable[str]
) -> list[Patch]:
    """The patches with their include of the header made to reach it, and the header in every place it has.

    `needs` are those of all CUDA files, changed or not: one that includes only headers of the project relies on theirs.
    """
    there = {PurePosixPath(path).parent for path in listed if PurePosixPath(path).name == COMPAT_HEADER}
    folders = {patch.path: PurePosixPath(patch.path).parent for patch in patches if _NAMED in patch.after}
    homes = _homes(set(folders.values()), there)
    done = [
        replace(patch, after=patch.after.replace(_NAMED, _reaching(folders[patch.path], homes[folders[patch.path]])))
        if patch.path in folders
        else patch
        for patch in patches
    ]
    places = sorted({*there, *homes.values()})
    if not places:
        return done
    done += [_header(root, home, home in there, needs) for home in places]
    return done


def _header(root: Path, home: PurePosixPath, is_there: bool, needs: Sequence[Needs]) -> Patch:
    """The header of one folder. Each gives all names: a C++ file that includes any header of the project relies on it."""
    path = (home / COMPAT_HEADER).as_posix()
    before = (root / path).read_bytes() if is_there else None
    wanted = [needs_in(before.decode("utf-8", "replace"))] if before is not None else []
    wanted += needs
    return Patch(path, before, compat_header(wanted).encode())


def _homes(folders: set[PurePosixPath], there: set[PurePosixPath]) -> dict[PurePosixPath, PurePosixPath]:
    """The header's folder for each folder of files that include it."""
    homes: dict[PurePosixPath, PurePosixPath] = {}
    groups: dict[PurePosixPath | None, list[PurePosixPath]] = {}
    for folder in folders:
        installed = _include_root(folder)
        above = [home for home in (folder, *folder.parents) if home in there]
        above = [home for home in above if installed is None or home.is_relative_to(installed)]
        if above:
            homes[folder] = above[0]
        else:
            groups.setdefault(installed, []).append(folder)
    for members in groups.values():
        common = PurePosixPath(os.path.commonpath([f"/{member.as_posix()}" for member in members])).relative_to("/")
        homes.update(dict.fromkeys(members, common))
    return homes


def _include_root(folder: PurePosixPath) -> PurePosixPath | None:
    """The outermost folder named `include` that a folder is in."""
    parts = folder.parts
    return PurePosixPath(*parts[: parts.index("include") + 1]) if "include" in parts else None


def _reaching(folder: PurePosixPath, home: PurePosixPath) -> bytes:
    climb = os.path.relpath(f"/{home.as_posix()}", f"/{folder.as_posix()}")
    way = "" if climb == "." else f"{climb}/"
    return f'"{way}{COMPAT_HEADER}"'.encode()
