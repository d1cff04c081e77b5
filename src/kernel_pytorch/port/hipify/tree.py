"""A folder of CUDA sources: which files, which belong together, and their translation on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.inside import inside
from kernel_pytorch.core.printable import has_controls
from kernel_pytorch.port.cxx.include_folders import inferred_folders
from kernel_pytorch.port.cxx.unit import Include, Unit, includes_of, is_third_party, resolve_include
from kernel_pytorch.port.file_failure import not_looked_at
from kernel_pytorch.port.hipify.file import TranslateOptions, Translation, translate_or_say
from kernel_pytorch.port.hipify.stats import FileStats, file_stats
from kernel_pytorch.port.names.compat_header import Needs, needs_of
from kernel_pytorch.port.source import C_SUFFIXES, CUDA_SUFFIXES, SourceFile, source_file

# A unit whose files go beyond this is analysed file by file, each with the headers it reaches.
MAX_UNIT_BYTES = 3_000_000


@dataclass(frozen=True)
class Task:
    """Files that are seen together, and which of them this task translates. Paths are relative to the root."""

    root: Path
    members: tuple[str, ...]
    chosen: tuple[str, ...]
    search: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Done:
    """One file of a task: its figures, and what a compatibility header must give it."""

    stats: FileStats
    needs: Needs


def find_sources(root: Path, leave: Sequence[Path] = ()) -> tuple[list[Path], list[Done]]:
    """The C, C++ and CUDA files below a folder, sorted; third-party and hidden folders and `leave` are left out.

    The second list has what looks like a source and is not read, with the reason.
    """
    found: list[Path] = []
    unread: list[Done] = []
    is_ours = inside(root)
    left = {path.resolve() for path in leave}
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not is_third_party(Path(name) / "x") and (here / name).resolve() not in left
        )
        for name in sorted(names):
            path = here / name
            if path.suffix.lower() not in CUDA_SUFFIXES | C_SUFFIXES:
                continue
            if is_ours(path) and path.is_file() and not has_controls(name):
                found.append(path)
            else:
                reason = "its name holds control characters" if has_controls(name) else "no file of this folder"
                shown = path.relative_to(root).as_posix()
                said = Translation(shown, b"", b"", (not_looked_at(shown, reason),))
                unread.append(Done(file_stats(said), needs_of(said)))
    return found, unread


def tasks_of(root: Path, files: Iterable[Path], search: Sequence[Path] = ()) -> list[Task]:
    """Groups files that reach each other by includes. Large groups are taken apart again. Largest first."""
    known = {path.resolve(): path.relative_to(root).as_posix() for path in files}
    search = (*search, *inferred_folders(root, known, search))
    folders = [*search, root.resolve(), root.resolve() / "include", root.resolve() / "src"]
    leader = {name: name for name in known.values()}
    sizes: dict[str, int] = {}
    reaches: dict[str, list[str]] = {}
    for path, name in known.items():
        data = path.read_bytes()
        sizes[name] = len(data)
        reaches[name] = []
        for include in includes_of(data):
            found = resolve_include(include, path, folders)
            if found in known:
                reaches[name].append(known[found])
                leader[_top(leader, name)] = _top(leader, known[found])
    groups: dict[str, list[str]] = {}
    for name in leader:
        groups.setdefault(_top(leader, name), []).append(name)
    tasks: list[Task] = []
    for members in groups.values():
        if sum(sizes[name] for name in members) <= MAX_UNIT_BYTES:
            tasks.append(Task(root, tuple(members), tuple(members), tuple(search)))
        else:
            tasks.extend(Task(root, tuple(_closure(name, reaches)), (name,), tuple(search)) for name in members)
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


def written_name(relative: str, layout: str) -> str:
    """The name of a file's twin: .cu becomes .hip in the copy layout, everything else keeps its name."""
    if layout == "copy" and relative.endswith(".cu"):
        return relative.removesuffix(".cu") + ".hip"
    return relative


def run_task(task: Task, options: TranslateOptions, target: Path | None) -> list[Done]:
    """Translates the chosen files of a task and writes them below `target`, if there is one."""
    unit = Unit(tuple(source_file(name, (task.root / name).read_bytes()) for name in task.members), options.wave)
    folders = [*task.search, task.root.resolve(), task.root.resolve() / "include", task.root.resolve() / "src"]
    done: list[Done] = []
    chosen = set(task.chosen)
    for src in unit.files:
        if src.path not in chosen:
            continue
        result = translate_or_say(src, unit, options, local_to(task.root / src.path, folders))
        name = written_name(src.path, options.layout)
        if target is not None:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(result.after)
        done.append(Done(file_stats(result, name if target is not None else ""), needs_of(result)))
    return done


def local_to(path: Path, folders: Sequence[Path]) -> Callable[[Include], bool]:
    """Tells whether an #include of the file at `path` names a file of the project."""

    def is_local(include: Include) -> bool:
        return resolve_include(include, path, folders) is not None

    return is_local


def run_tasks(
    tasks: Sequence[Task], options: TranslateOptions, target: Path | None, workers: int | None = None
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

    with worker_pool(workers, _quiet_worker) as pool:
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


def _quiet_worker() -> None:
    import gc

    # Tokens are millions of small tuples without cycles: collecting them costs a third of the time and frees nothing.
    gc.disable()


def single_file(path: Path) -> tuple[SourceFile, Unit, Path]:
    """A file given by itself, with the unit of project headers it reaches and the folder they are sought in."""
    from kernel_pytorch.port.cxx.unit import include_closure

    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    root = path.resolve().parent
    seen = include_closure(path, root)
    files = []
    for at, data in seen.items():
        shown = path.as_posix() if at == path.resolve() else (path.parent / at.relative_to(root)).as_posix()
        files.append(source_file(shown, data))
    return files[0], Unit(tuple(files)), root
