"""CUDA C++ to HIP: one file as text, or a tree below a folder. The original is never touched.

In the layouts that keep CUDA's names behind gates (single-source, torch-extension) every file is proven as `kpt port`
proves it: with the gates folded to "not ROCm", the original comes back. A file that fails is refused and named.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.core.whole_file import write_whole
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.run import Done, run_tasks
from kernel_pytorch.port.hipify.stats import FileStats, Totals, file_stats
from kernel_pytorch.port.hipify.tree import find_sources, hipify_task, task_of, tasks_of
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER, Needs, compat_header

if TYPE_CHECKING:
    from kernel_pytorch.verify.isolation import FileVerdict


@dataclass(frozen=True)
class HipifyResult:
    """The figures of every file, and the files that were refused because their proof failed."""

    files: tuple[FileStats, ...]
    refused: tuple[FileVerdict, ...] = ()

    @property
    def totals(self) -> Totals:
        totals = Totals()
        for stats in self.files:
            totals.add(stats)
        return totals

    @property
    def ok(self) -> bool:
        """Nothing is left for a person, and nothing was refused."""
        return not self.refused and not any(stats.left for stats in self.files)


@dataclass(frozen=True)
class HipifiedSource(HipifyResult):
    """One file. `data` is None where the file was refused; `header` is what it includes beside it, if anything."""

    data: bytes | None = None
    header: bytes | None = None


def hipify_file(
    path: Path,
    options: HipifyOptions = HipifyOptions(),  # noqa: B008 (frozen)
    include_dirs: Sequence[Path] = (),
) -> HipifiedSource:
    """Translate one file with the project headers it reaches in view. Writes nothing."""
    (result,) = hipify_task(task_of(path, include_dirs), options)
    stats = file_stats(result)
    refused = _unproven(options, [Patch(result.path, result.before, result.after)])
    if refused:
        return HipifiedSource((_as_it_was(stats),), refused)
    header = _header([result.needs]) if layout_named(options.layout).has_one_header else None
    return HipifiedSource((stats,), (), result.after, header)


def write_hipified(result: HipifiedSource, path: Path, output: Path) -> None:
    """Write a translated file, and its header beside it. `output` is a file, or a folder to write NAME.hip in."""
    target = output / f"{path.stem}.hip" if output.is_dir() else output
    if target.exists() and target.resolve() == path.resolve():
        raise UsageError(f"{target} is the input: a translation never replaces its original")
    if result.data is not None:
        _write(target, result.data)
    if result.header is not None:
        _write(target.parent / COMPAT_HEADER, result.header)


def hipify_tree(
    paths: Sequence[Path],
    output: Path | None,
    options: HipifyOptions = HipifyOptions(),  # noqa: B008 (frozen)
    include_dirs: Sequence[Path] = (),
    workers: int | None = None,
) -> HipifyResult:
    """Translate a folder, or several files, below `output`; None writes nothing. All of it is written, or none.

    A file that is refused is written as it was: others of the tree include it.
    """
    root, files, chosen, unread = _sources(paths, output)
    tasks = tasks_of(root, files, include_dirs, chosen)
    # Tasks end in any order; what is said and written must not depend on it.
    order = {path: number for number, path in enumerate(path for task in tasks for path in task.chosen)}

    def run(target: Path | None) -> list[Done]:
        return sorted(run_tasks(tasks, options, target, workers), key=lambda item: order[item.stats.path])

    if output is None and layout_named(options.layout).writes_twins:
        return HipifyResult((*unread, *(item.stats for item in run(None))))
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
    # Everything is made beside the target first: a failure half-way leaves no half tree.
    beside = (None, None) if output is None else (f".{output.name}.", output.parent)
    staging = Path(tempfile.mkdtemp(prefix=beside[0], dir=beside[1]))
    try:
        result = _staged(root, run(staging), options, staging)
        result = replace(result, files=(*unread, *result.files))
        if output is None:
            return replace(result, files=tuple(replace(stats, written_as="") for stats in result.files))
        _put_in_place(staging, output)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return result


def _sources(paths: Sequence[Path], output: Path | None) -> tuple[Path, list[Path], list[str], list[FileStats]]:
    """The folder that names are relative to, the files that are seen, the names of those to translate, and files that
    are not read."""
    unread: list[FileStats] = []
    folders = [path for path in paths if path.is_dir()]
    if len(folders) > 1 or (folders and len(paths) > 1):
        raise UsageError("one folder at a time, or several files")
    if folders:
        root = folders[0]
        files, chosen, unread = find_sources(root, [output] if output else [])
    else:
        root = Path(os.path.commonpath([path.resolve().parent for path in paths]))
        files = [path.resolve() for path in paths]
        chosen = [path.relative_to(root).as_posix() for path in files]
    if output is not None and output.resolve() == root.resolve():
        raise UsageError(f"{output} is the input: a translation never replaces its originals")
    return root, files, chosen, unread


def _staged(root: Path, done: Sequence[Done], options: HipifyOptions, staging: Path) -> HipifyResult:
    """The result of what lies in the staging folder: proven, or put back as it was."""
    changed = {item.stats.path: item.stats.written_as for item in done if item.stats.changed}
    refused = _unproven(
        options,
        (Patch(path, read_bytes(root / path, root), (staging / name).read_bytes()) for path, name in changed.items()),
    )
    bad = {verdict.path for verdict in refused}
    for path in bad:
        shutil.copyfile(root / path, staging / changed[path])
    if layout_named(options.layout).has_one_header:
        needs = [item.needs for item in done if item.stats.path not in bad]
        (staging / COMPAT_HEADER).write_bytes(_header(needs))
    files = (_as_it_was(item.stats) if item.stats.path in bad else item.stats for item in done)
    return HipifyResult(tuple(files), refused)


def _unproven(options: HipifyOptions, patches: Iterable[Patch]) -> tuple[FileVerdict, ...]:
    """The verdicts on files whose proof fails. A copy is all HIP: there the original keeps the NVIDIA path."""
    if layout_named(options.layout).writes_twins:
        return ()
    # Imported here: the proof takes a tenth of the time that one small file needs.
    from kernel_pytorch.jobs.proof import verdict_on

    verdicts = (verdict_on(patch) for patch in patches)
    return tuple(one for one in verdicts if one is not None and not one.is_proven)


def _as_it_was(stats: FileStats) -> FileStats:
    return replace(stats, changed=False, translated=0, applied=())


def _header(needs: Iterable[Needs]) -> bytes:
    return compat_header(needs).encode()


def _put_in_place(staging: Path, output: Path) -> None:
    if not output.exists():
        staging.chmod(0o755)
        staging.rename(output)
        return
    top = output.resolve()
    for folder, _, names in os.walk(staging):
        target = output / Path(folder).relative_to(staging)
        if not target.resolve().is_relative_to(top):
            raise UsageError(f"{target}: a link that leads out of {output}; remove it, or name another folder")
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            (Path(folder) / name).replace(target / name)


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from problem
