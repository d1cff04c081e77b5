"""Where the header of the single-source layout stands, so that every file reaches it and an installed one still does.

Headers are installed as they lie. Those below a folder named `include` get a header of their own among them; all other
files share one, in the folder that holds the headers which include it. One that is there already stays where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER, Needs, compat_header, needs_in

_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl")
_NAMED = f'"{COMPAT_HEADER}"'.encode()


def with_compat_header(
    root: Path, patches: Sequence[Patch], needs: Sequence[Needs], listed: Iterable[str]
) -> list[Patch]:
    """The patches with their include of the header made to reach it, and the header in every place it has.

    `needs` are those of all CUDA files, changed or not: one that includes only headers of the project relies on theirs.
    """
    there = {PurePosixPath(path).parent for path in listed if PurePosixPath(path).name == COMPAT_HEADER}
    folders = {patch.path: PurePosixPath(patch.path).parent for patch in patches if _NAMED in patch.after}
    headers = {folder for path, folder in folders.items() if path.endswith(_HEADERS)}
    homes = _homes(set(folders.values()), headers, there)
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
    """The header of one folder. Each gives all names: a C++ file may rely on any header of the project for them."""
    path = (home / COMPAT_HEADER).as_posix()
    before = (root / path).read_bytes() if is_there else None
    wanted = [needs_in(before.decode("utf-8", "replace"))] if before is not None else []
    wanted += needs
    return Patch(path, before, compat_header(wanted).encode())


def _homes(
    folders: set[PurePosixPath], headers: set[PurePosixPath], there: set[PurePosixPath]
) -> dict[PurePosixPath, PurePosixPath]:
    """The header's folder for each folder of files that include it; `headers` are those folders that hold headers."""
    homes: dict[PurePosixPath, PurePosixPath] = {}
    groups: dict[PurePosixPath | None, list[PurePosixPath]] = {}
    for folder in folders:
        installed = _include_root(folder)
        known = [home for home in there if _include_root(home) == installed]
        if known:
            homes[folder] = max(sorted(known), key=lambda home: _shared(home, folder))
        else:
            groups.setdefault(installed, []).append(folder)
    for members in groups.values():
        chosen = [member for member in members if member in headers] or members
        common = PurePosixPath(os.path.commonpath([f"/{member.as_posix()}" for member in chosen])).relative_to("/")
        homes.update(dict.fromkeys(members, common))
    return homes


def _shared(one: PurePosixPath, other: PurePosixPath) -> int:
    """How many folders two places have in common, from the root on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.parts, other.parts, strict=False)))


def _include_root(folder: PurePosixPath) -> PurePosixPath | None:
    """The outermost folder named `include` that a folder is in."""
    parts = folder.parts
    return PurePosixPath(*parts[: parts.index("include") + 1]) if "include" in parts else None


def _reaching(folder: PurePosixPath, home: PurePosixPath) -> bytes:
    climb = os.path.relpath(f"/{home.as_posix()}", f"/{folder.as_posix()}")
    way = "" if climb == "." else f"{climb}/"
    return f'"{way}{COMPAT_HEADER}"'.encode()
