"""Groups of CUDA files that are seen together: which files, their way to HIP, a whole folder on all cores."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.cxx.include_folders import inferred_folders
from kernel_pytorch.port.cxx.includes import (
    Include,
    IncludeSearch,
    include_closure,
    includes_of,
    search_folders,
)
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.file_failure import not_looked_at
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_or_say
from kernel_pytorch.port.hipify.stats import FileStats, file_stats
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.names.compat_header import Needs
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
class Done:
    """One file of a task: its figures, and what a compatibility header must give it."""

    stats: FileStats
    needs: Needs


def hipify_task(task: Task, options: HipifyOptions) -> Iterator[HipifiedFile]:
    """Ports the chosen files of a task, each in the unit of all its members, in the order of the members."""
    root = task.root.resolve()
    shown = task.shown or task.members
    pairs = zip(shown, task.members, strict=True)
    unit = Unit(tuple(cxx_file(name, read_bytes(root / path, root)) for name, path in pairs), options.wave)
    folders = IncludeSearch(search_folders(root, task.search))
    chosen = set(task.chosen)
    with _collector_away(sum(map(len, unit.texts))):
        for path, src in zip(task.members, unit.files, strict=True):
            if path in chosen:
                yield hipify_or_say(src, unit, options, partial(is_local_to, root / path, folders))


_MOST_UNCOLLECTED = 1_000_000
_uncollected = 0  # bytes of the sources whose tokens and nodes may lie around


@contextmanager
def _collector_away(size: int) -> Iterator[None]:
    """Keeps the garbage collector away from a task of `size` bytes. It runs between tasks, once much has piled up.

    Tokens and syntax nodes are millions of small objects, and almost all live as long as their unit: to look for
    garbage among them over and over takes a third of the time and finds nothing.
    """
    global _uncollected
    if _uncollected > _MOST_UNCOLLECTED:
        gc.collect()
        _uncollected = 0
    _uncollected += size
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # What is there counts as old now: else the collector would go through all of it at once.
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def is_local_to(path: Path, folders: IncludeSearch, include: Include) -> bool:
    """Whether an #include of the file at `path` names a file of the project."""
    return folders.path(include, path) is not None


def task_of(path: Path, search: Sequence[Path] = ()) -> Task:
    """The task of one file, seen with the project headers it reaches, which findings name beside it."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    main = path.resolve()
    members = [at.relative_to(main.parent).as_posix() for at in include_closure(path, main.parent, search)]
    shown = [path.as_posix(), *((path.parent / name).as_posix() for name in members[1:])]
    return Task(main.parent, tuple(members), (main.name,), tuple(search), tuple(shown))


def find_sources(root: Path, leave: Sequence[Path] = ()) -> tuple[list[Path], list[str], list[FileStats]]:
    """The C, C++ and CUDA files of a folder, and those of them to port: not excluded, and not below `leave`.

    The third list has what looks like a source and is not read, with the reason.
    """
    project = project_of(root)
    left = [path.resolve() for path in leave]
    names = sorted(project.of("cuda", "c++"), key=lambda name: (PurePosixPath(name).parent.parts, name))
    files = [root / name for name in names]
    files = [path for path in files if not any(path.resolve().is_relative_to(folder) for folder in left)]
    seen = [path.relative_to(root).as_posix() for path in files]
    unread = [
        file_stats(HipifiedFile(one.path, b"", b"", (not_looked_at(one.path, one.reason),), is_failed=True))
        for one in project.unread
        if PurePosixPath(one.path).suffix.lower() in CUDA_SUFFIXES | C_SUFFIXES
    ]
    return files, [name for name in seen if name not in project.excluded], unread


def tasks_of(
    root: Path, files: Iterable[Path], search: Sequence[Path] = (), chosen: Iterable[str] | None = None
) -> list[Task]:
    """Groups files that reach each other by includes. Large groups are divided again. Largest first.

    `chosen` are those that are ported, as paths relative to the root (None: all); the others are only seen.
    """
    known = {path.resolve(): path.relative_to(root).as_posix() for path in files}
    wanted = set(known.values()) if chosen is None else set(chosen)
    search = (*search, *inferred_folders(root, known, search))
    folders = IncludeSearch(search_folders(root.resolve(), search))
    leader = {name: name for name in known.values()}
    sizes: dict[str, int] = {}
    reaches: dict[str, list[str]] = {}
    for path, name in known.items():
        data = read_bytes(path)
        sizes[name] = len(data)
        reaches[name] = []
        for include in includes_of(data):
            found = folders.resolved(include, path)
            if found in known:
                reaches[name].append(known[found])
                leader[_top(leader, name)] = _top(leader, known[found])
    groups: dict[str, list[str]] = {}
    for name in leader:
        groups.setdefault(_top(leader, name), []).append(name)
    tasks: list[Task] = []
    for members in groups.values():
        if sum(sizes[name] for name in members) <= MAX_UNIT_BYTES:
            own = tuple(name for name in members if name in wanted)
            tasks.append(Task(root, tuple(members), own, tuple(search)))
        else:
            tasks.extend(
                Task(root, tuple(_closure(name, reaches)), (name,), tuple(search)) for name in members if name in wanted
            )
    tasks = [task for task in tasks if task.chosen]
    return sorted(tasks, key=lambda task: -sum(sizes[name] for name in task.chosen))


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


def run_task(task: Task, options: HipifyOptions, target: Path | None) -> list[Done]:
    """Ports the chosen files of a task and writes them below `target`, if there is one."""
    layout = layout_named(options.layout)
    done: list[Done] = []
    for result in hipify_task(task, options):
        name = layout.written_name(result.path)
        if target is not None:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(result.after)
        done.append(Done(file_stats(result, name if target is not None else ""), result.needs))
    return done


def run_tasks(
    tasks: Sequence[Task], options: HipifyOptions, target: Path | None, workers: int | None = None
) -> Iterator[Done]:
    """Runs tasks on all cores. Only a few are in flight at a time, so memory does not grow with the tree."""
    workers = workers or os.cpu_count() or 1
    if workers == 1 or len(tasks) < 4:
        for task in tasks:
            yield from run_task(task, options, target)
        return
    # Imported here: it takes a tenth of the time one small file needs.
    from concurrent.futures import FIRST_COMPLETED, wait

    from kernel_pytorch.core.worker_pool import worker_pool

    with worker_pool(workers) as pool:
        waiting = iter(tasks)
        running = set()
        for task in waiting:
            running.add(pool.submit(run_task, task, options, target))
            if len(running) >= workers * 3:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield from future.result()
        for future in running:
            yield from future.result()
