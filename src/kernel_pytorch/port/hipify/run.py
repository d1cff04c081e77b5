"""Tasks ported and written: one after the other, on all cores, or one large unit on all cores."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.port.cxx.source import load_parser
from kernel_pytorch.port.hipify.collector import collector_away
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions
from kernel_pytorch.port.hipify.stats import FileStats, file_stats
from kernel_pytorch.port.hipify.tree import OpenTask, Task, hipify_members, hipify_task, open_task
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.names.compat_header import Needs
from kernel_pytorch.port.names.implicit import implicit_headers
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.names.table import load_table, project_names
from kernel_pytorch.port.rules import rules_for
from kernel_pytorch.port.wave.collectives import is_wave_file
from kernel_pytorch.port.wave.model import wave_model

# Two processes take a tenth of a second more than one, in which one ports about this much.
_WORTH_A_POOL = 200_000
# Small tasks go to a worker together: to send one and to get its answer takes as long as to port a kilobyte.
_BATCH_BYTES = 100_000
# Parts of a unit per worker: the largest files come first, so that all end at about the same time.
_PARTS = 6


@dataclass(frozen=True)
class Done:
    """One file of a task: its figures, and what a compatibility header must give it, if the layout has one."""

    stats: FileStats
    needs: Needs = Needs()  # noqa: RUF009 (frozen)


def run_task(task: Task, options: HipifyOptions, target: Path | None) -> list[Done]:
    """Ports the chosen files of a task and writes them below `target`, if there is one."""
    return _written(hipify_task(task, options), options, target)


def _written(results: Iterable[HipifiedFile], options: HipifyOptions, target: Path | None) -> list[Done]:
    layout = layout_named(options.layout)
    done: list[Done] = []
    for result in results:
        name = layout.written_name(result.path)
        if target is not None:
            path = target / name
            try:
                path.write_bytes(result.after)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(result.after)
        stats = file_stats(result, name if target is not None else "")
        done.append(Done(stats, result.needs) if layout.has_one_header else Done(stats))
    return done


def run_tasks(
    tasks: Sequence[Task], options: HipifyOptions, target: Path | None, workers: int | None = None
) -> Iterator[Done]:
    """Runs tasks, largest first, on all cores where that pays. What is done comes in any order."""
    workers = workers or os.cpu_count() or 1
    sizes = [_size(task) for task in tasks] if workers > 1 else []
    if workers == 1 or sum(sizes) < _WORTH_A_POOL:
        for task in tasks:
            yield from run_task(task, options, target)
        return
    from kernel_pytorch.core.worker_pool import can_copy_process

    # A unit that would keep one process busy longer than the others have anything to do is shared by all of them.
    is_shared = can_copy_process() and sizes[0] * workers > sum(sizes) and len(tasks[0].chosen) > 1
    if is_shared:
        yield from _run_shared(tasks[0], options, target, workers)
    rest = tasks[1:] if is_shared else tasks
    if len(rest) < 2 or (is_shared and sum(sizes[1:]) < _WORTH_A_POOL):
        for task in rest:
            yield from run_task(task, options, target)
    else:
        yield from _run_pool(_batches(rest, sizes[-len(rest) :]), options, target, workers)


def _size(task: Task) -> int:
    return sum((task.root / path).stat().st_size for path in task.chosen)


def _batches(tasks: Sequence[Task], sizes: Sequence[int]) -> list[tuple[Task, ...]]:
    """The tasks in their order, small ones together."""
    made: list[tuple[Task, ...]] = []
    batch: list[Task] = []
    filled = 0
    for task, size in zip(tasks, sizes, strict=True):
        batch.append(task)
        filled += size
        if filled >= _BATCH_BYTES:
            made.append(tuple(batch))
            batch, filled = [], 0
    return [*made, tuple(batch)] if batch else made


def _run_batch(tasks: Iterable[Task], options: HipifyOptions, target: Path | None) -> list[Done]:
    return [done for task in tasks for done in run_task(task, options, target)]


def _run_pool(
    batches: Sequence[tuple[Task, ...]], options: HipifyOptions, target: Path | None, workers: int
) -> Iterator[Done]:
    """Only a few tasks are in flight at a time, so that memory does not grow with the tree."""
    # Imported here: it takes a tenth of the time one small file needs.
    from concurrent.futures import FIRST_COMPLETED, wait

    from kernel_pytorch.core.worker_pool import worker_pool

    _load()
    with worker_pool(min(workers, len(batches))) as pool:
        running = set()
        for batch in batches:
            running.add(pool.submit(_run_batch, batch, options, target))
            if len(running) >= workers * 3:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield from future.result()
        for future in running:
            yield from future.result()


def _load() -> None:
    """What every worker needs, loaded once before this process is copied."""
    for language in ("cuda", "c++"):
        rules_for(language)
    shims()
    load_table()
    load_parser()


# The unit whose parts the workers port. They are copies of this process, and so have it.
_shared: OpenTask | None = None


def _run_shared(task: Task, options: HipifyOptions, target: Path | None, workers: int) -> Iterator[Done]:
    """One unit on all cores: what is known of it as a whole is found out first, once for all workers."""
    global _shared
    from concurrent.futures import as_completed

    from kernel_pytorch.core.worker_pool import worker_pool

    _load()
    _shared = open_task(task, options)
    try:
        with collector_away(_shared.unit.size):
            with suppress(Exception):  # what fails here fails again for each file, and is said there
                _look_at_whole(_shared, options)
            gc.freeze()  # a collection in a worker would copy every page of what it has been given
            try:
                with worker_pool(workers) as pool:
                    parts = _parts(task, workers * _PARTS)
                    for future in as_completed([pool.submit(_run_part, part, options, target) for part in parts]):
                        yield from future.result()
            finally:
                gc.unfreeze()
    finally:
        _shared = None


def _look_at_whole(opened: OpenTask, options: HipifyOptions) -> None:
    """Fills the caches that all files of a unit share."""
    unit = opened.unit
    project_names(unit.files[0], unit.files)
    implicit_headers(unit)
    if not unit.has_marks and any(map(is_wave_file, unit.files)) and _asks_for_waves(options):
        wave_model(unit, unit.wave)


def _asks_for_waves(options: HipifyOptions) -> bool:
    return options.rules is None or any(code.startswith("KP3") for code in options.rules)


def _parts(task: Task, count: int) -> list[tuple[str, ...]]:
    """The chosen files in about equal parts, large files first."""
    by_size = sorted(((task.root / path).stat().st_size, path) for path in task.chosen)
    goal = sum(size for size, _ in by_size) / count
    parts: list[tuple[str, ...]] = []
    part: list[str] = []
    filled = 0
    for size, path in reversed(by_size):
        part.append(path)
        filled += size
        if filled >= goal:
            parts.append(tuple(part))
            part, filled = [], 0
    return [*parts, tuple(part)] if part else parts


def _run_part(chosen: tuple[str, ...], options: HipifyOptions, target: Path | None) -> list[Done]:
    assert _shared is not None
    with collector_away(0):
        return _written(hipify_members(_shared, chosen, options), options, target)
