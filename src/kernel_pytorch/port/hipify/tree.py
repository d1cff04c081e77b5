"""Groups of CUDA files that are seen together: which files, and their way to HIP."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_bytes, why_refused
from kernel_pytorch.port.cxx.include_folders import inferred_folders
from kernel_pytorch.port.cxx.includes import (
    Include,
    IncludeSearch,
    includes_of,
    search_folders,
)
from kernel_pytorch.port.cxx.reached_files import reached_files
from kernel_pytorch.port.cxx.run_time_sources import kernel_files_of
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.file_failure import not_looked_at
from kernel_pytorch.port.hipify.collector import collector_away
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_or_say
from kernel_pytorch.port.hipify.stats import FileStats, file_stats
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER
from kernel_pytorch.port.settings import project_of
from kernel_pytorch.port.source import C_SUFFIXES, CUDA_SUFFIXES

# A unit whose files go beyond this is analysed file by file, each with the headers it reaches.
MAX_UNIT_BYTES = 3_000_000


@dataclass(frozen=True)
class Task:
    """Files that are seen together, and which of them are ported. Paths are relative to the root.

    `search` are include folders besides the usual ones; `shown` are the members as findings name them.
    """

    root: Path
    members: tuple[str, ...]
    chosen: tuple[str, ...]
    search: tuple[Path, ...] = ()
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenTask:
    """A task whose files have been read: the unit of all its members, and where their includes are looked up."""

    task: Task
    root: Path
    unit: Unit
    folders: IncludeSearch


def open_task(task: Task, options: HipifyOptions) -> OpenTask:
    """Reads the members of a task."""
    root = task.root.resolve()
    pairs = zip(task.shown or task.members, task.members, strict=True)
    unit = Unit(tuple(cxx_file(name, read_bytes(root / path, root)) for name, path in pairs), options.wave)
    return OpenTask(task, root, unit, _search(root, task.search))


@lru_cache(maxsize=1)
def _search(root: Path, named: tuple[Path, ...]) -> IncludeSearch:
    """One search for all tasks of a run: <stdio.h> is then looked for once, and not once for every task."""
    return IncludeSearch(search_folders(root, named))


def hipify_task(task: Task, options: HipifyOptions) -> Iterator[HipifiedFile]:
    """Ports the chosen files of a task, each in the unit of all its members, in the order of the members."""
    opened = open_task(task, options)
    with collector_away(opened.unit.size):
        yield from hipify_members(opened, task.chosen, options)


def hipify_members(opened: OpenTask, chosen: Iterable[str], options: HipifyOptions) -> Iterator[HipifiedFile]:
    """Ports some members of a task."""
    wanted = set(chosen)
    for path, src in zip(opened.task.members, opened.unit.files, strict=True):
        if path in wanted:
            is_local = partial(is_local_to, opened.root / path, opened.folders)
            yield hipify_or_say(src, opened.unit, options, is_local)


def is_local_to(path: Path, folders: IncludeSearch, include: Include) -> bool:
    """Whether an #include of the file at `path` names a file of the project."""
    return folders.path(include, path) is not None


def task_of(path: Path, search: Sequence[Path] = ()) -> Task:
    """The task of one file, seen with the project headers it reaches, which findings name beside it."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    main = path.resolve()
    _search.cache_clear()  # files may have come and gone since the last run
    reached = reached_files(path, search)
    if not reached.files:
        raise UsageError(f"{path}: cannot be read ({why_refused(main, main.parent) or 'permission denied'})")
    members = [at.relative_to(reached.root).as_posix() for at in reached.files]
    beside = [os.path.relpath(at, reached.main.parent) for at in reached.files]
    shown = [path.as_posix(), *((path.parent / name).as_posix() for name in beside[1:])]
    return Task(reached.root, tuple(members), (members[0],), tuple(search), tuple(shown))


def find_sources(root: Path, leave: Sequence[Path] = ()) -> tuple[list[Path], list[str], list[FileStats]]:
    """The C, C++ and CUDA files of a folder, and those of them to port: not excluded, and not below `leave`.

    The third list has what looks like a source and is not read, with the reason.
    """
    project = project_of(root)
    top = root.resolve()
    # Nothing leads out of the project, so that only a folder inside it can hold a file of it.
    left = [folder for folder in (path.resolve() for path in leave) if folder.is_relative_to(top)]
    names = sorted(project.of("cuda", "c++"), key=lambda name: (name.split("/")[:-1], name))
    pairs = [(name, root / name) for name in names]
    if left:
        pairs = [one for one in pairs if not any(one[1].resolve().is_relative_to(folder) for folder in left)]
    unread = [
        file_stats(HipifiedFile(one.path, b"", b"", (not_looked_at(one.path, one.reason),), is_failed=True))
        for one in project.unread
        if PurePosixPath(one.path).suffix.lower() in CUDA_SUFFIXES | C_SUFFIXES
    ]
    return [path for _, path in pairs], [name for name, _ in pairs if name not in project.excluded], unread


def tasks_of(
    root: Path, files: Sequence[Path], search: Sequence[Path] = (), chosen: Iterable[str] | None = None
) -> list[Task]:
    """Groups files that reach each other by includes. Large groups are divided again. Largest first.

    `chosen` are those that are ported, as paths relative to the root (None: all); the others are only seen.
    """
    known = dict(zip(resolved(files), (path.relative_to(root).as_posix() for path in files), strict=True))
    wanted = set(known.values()) if chosen is None else set(chosen)
    sizes: dict[str, int] = {}
    includes: dict[Path, list[Include]] = {}
    read_later: dict[Path, list[Include]] = {}
    for path, name in known.items():
        data = read_bytes(path)
        sizes[name], includes[path] = len(data), includes_of(data)
        read_later[path] = kernel_files_of(data)
    search = (*search, *inferred_folders(root, known, search, includes.__getitem__))
    _search.cache_clear()  # files may have come and gone since the last run
    folders = _search(root.resolve(), search)
    leader = {name: name for name in known.values()}
    reaches: dict[str, list[str]] = {}
    for path, name in known.items():
        reaches[name] = []
        for include in (*includes[path], *read_later[path]):
            found = folders.resolved(include, path)
            if found in known:
                reaches[name].append(known[found])
                # A header of ours is seen with each group. It joins none: a second port sees the groups of the first.
                if PurePosixPath(known[found]).name != COMPAT_HEADER:
                    leader[_top(leader, name)] = _top(leader, known[found])
    groups: dict[str, list[str]] = {}
    for name in leader:
        groups.setdefault(_top(leader, name), []).append(name)
    tasks: list[Task] = []
    for members in groups.values():
        given = {other for name in members for other in reaches[name] if PurePosixPath(other).name == COMPAT_HEADER}
        members += sorted(given.difference(members))
        if sum(sizes[name] for name in members) <= MAX_UNIT_BYTES:
            own = tuple(name for name in members if name in wanted)
            tasks.append(Task(root, tuple(members), own, tuple(search)))
        else:
            tasks.extend(
                Task(root, tuple(_closure(name, reaches)), (name,), tuple(search)) for name in members if name in wanted
            )
    tasks = [task for task in tasks if task.chosen]
    return sorted(tasks, key=lambda task: -sum(sizes[name] for name in task.chosen))


def resolved(files: Iterable[Path]) -> Iterator[Path]:
    """Each path with its links followed. A folder is asked for once, however many files it has."""
    real: dict[str, Path] = {}
    for path in files:
        folder = os.fspath(path.parent)
        if folder not in real:
            real[folder] = path.parent.resolve()
        yield path.resolve() if path.is_symlink() else real[folder] / path.name


def _top(leader: dict[str, str], name: str) -> str:
    while leader[name] != name:
        leader[name] = leader[leader[name]]
        name = leader[name]
    return name


def _closure(name: str, reaches: dict[str, list[str]]) -> list[str]:
    seen = [name]
    for item in seen:
        seen.extend(other for other in reaches[item] if other not in seen)
    return seen
