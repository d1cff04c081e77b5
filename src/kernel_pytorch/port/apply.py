"""Writes patches into a project: each file whole or not at all, and the set of them recoverable.

Every new content is staged beside its file first, under a name that cannot be foreseen; then the files are replaced. A
journal says which files those are. A run that is cut off before the first replacement has changed nothing, and the next
run removes what it staged. One that is cut off after it is finished by the next run.

The journal lies in a folder of the user's own, not in the project: whoever made the project could have put a journal
there, and with it a content that nothing proved. It holds the hash of every file before and after. A file that is
neither was edited since then, and is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.cache_folder import state_folder
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.core.whole_file import SUFFIX, create, unfinished, write_whole

STAGING, REPLACING = "staging", "replacing"


@dataclass(frozen=True)
class Change:
    """One file of a port: where its new content is staged, and the hashes of both. No `before`: a new file."""

    path: str
    staged: str
    before: str | None
    after: str


@dataclass(frozen=True)
class Recovered:
    """What was done about a port that was cut off. `edited` were changed by somebody since then, and left alone."""

    finished: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    removed: int = 0

    def __str__(self) -> str:
        parts = ["a port of this folder was cut off earlier"]
        if self.finished:
            parts.append(f"its last {len(self.finished)} files are written now")
        if not self.finished and not self.edited:
            parts.append("it had changed nothing, and its staged files are removed")
        if self.edited:
            names = ", ".join(self.edited[:4]) + (" ..." if len(self.edited) > 4 else "")
            parts.append(f"edited since then and left as they are: {names}")
        return "; ".join(parts)


def apply_patches(root: Path, patches: Sequence[Patch]) -> None:
    """Apply all patches below `root`, or none. Raises UsageError naming the file that stands in the way."""
    with _journal(root) as journal:
        _recover(root, journal)
        for patch in patches:
            _check_unchanged(root, patch)
        changes = [
            Change(patch.path, unfinished(root / patch.path).name, _hash(patch.before), _digest(patch.after))
            for patch in patches
        ]
        made: list[Path] = []
        try:
            _write_journal(journal, root, STAGING, changes)
            for patch, change in zip(patches, changes, strict=True):
                made += _missing_folders(root / patch.path)
                _stage(root / patch.path, change.staged, patch)
            _write_journal(journal, root, REPLACING, changes)
        except OSError as error:
            _remove_staged(root, changes)
            for folder in reversed(made):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            journal.unlink(missing_ok=True)
            raise UsageError(
                f"{error.filename or root}: cannot be written ({error.strerror}); nothing was changed"
            ) from error
        edited = _replace(root, changes).edited
        journal.unlink()
    if edited:
        raise UsageError(
            f"{', '.join(edited)}: edited while the port was written, and left alone; the other files are written. "
            "Run the command again"
        )


def recover(root: Path) -> Recovered | None:
    """Finish a port that was cut off, or remove what it left; None where there was none."""
    with _journal(root) as journal:
        return _recover(root, journal)


def copy_with_patches(root: Path, names: Iterable[str], patches: Sequence[Patch], out: Path) -> None:
    """A copy of the named files of a project with patches in it; `out` appears when all of it is there."""
    made = out.with_name(f"{out.name}.{os.urandom(4).hex()}{SUFFIX}")
    try:
        made.mkdir(parents=True)
        for name in names:
            _copy(root / name, made / name)
        for patch in patches:
            _check_place(made, patch)
            (made / patch.path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(made / patch.path, patch.after)
        made.rename(out)
    except OSError as error:
        raise UsageError(
            f"{error.filename or out}: cannot be written ({error.strerror or error}); {out} was not made"
        ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _copy(source: Path, destination: Path) -> None:
    if source.is_file() or source.is_symlink():  # a link to a folder as well
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, destination, follow_symlinks=False)
    elif source.is_dir():  # git names a submodule as one entry: without it the copy does not build
        shutil.copytree(source, destination, symlinks=True, ignore=only_copied)


def only_copied(folder: str, names: list[str]) -> list[str]:
    """What a copy of a submodule leaves out: git's own folder, and named pipes and devices, which nobody could copy."""
    paths = {name: Path(folder) / name for name in names}
    special = [name for name, path in paths.items() if not (path.is_symlink() or path.is_file() or path.is_dir())]
    return [*special, *(name for name in names if name == ".git")]


def _check_unchanged(root: Path, patch: Patch) -> None:
    path = _check_place(root, patch)
    try:
        current = read_bytes(path)
    except FileNotFoundError:
        current = None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); nothing was changed") from error
    if current != patch.before:
        fact = "already exists" if patch.before is None else "is not the file that was scanned"
        raise UsageError(f"{path}: {fact}; nothing was changed, run the command again")


def _check_place(root: Path, patch: Patch) -> Path:
    path = root / patch.path
    if ".." in PurePosixPath(patch.path).parts or not path.parent.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path}: leads out of {root}; nothing was changed")
    if path.is_symlink():
        # What it points to has a place of its own, in the project or not; and a link must not become a file unasked.
        raise UsageError(f"{path}: a symbolic link; nothing was changed. Put a file in its place, or remove it")
    return path


def _stage(path: Path, name: str, patch: Patch) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(name)
    create(staged, private=patch.before is not None)
    with staged.open("r+b") as file:
        file.write(patch.after)
        file.flush()
        os.fsync(file.fileno())
    if patch.before is not None:
        with contextlib.suppress(OSError):  # a file system without modes
            staged.chmod(stat.S_IMODE(path.stat().st_mode) & 0o777)


def _missing_folders(path: Path) -> list[Path]:
    """The folders that a new file needs and that are not there, outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def _replace(root: Path, changes: Sequence[Change]) -> Recovered:
    """Put staged contents in place of the files they were made from, and of no others."""
    finished, edited = [], []
    for change in changes:
        path, staged = root / change.path, (root / change.path).with_name(change.staged)
        if _content_hash(staged) != change.after:
            continue  # in place already, or gone
        if _content_hash(path) == change.before and (change.before is not None or not os.path.lexists(path)):
            staged.replace(path)
            finished.append(change.path)
        else:
            edited.append(change.path)
            staged.unlink()
    _remove_staged(root, changes)
    for folder in {(root / change.path).parent for change in changes}:
        _sync(folder)
    return Recovered(tuple(finished), tuple(edited))


def _sync(folder: Path) -> None:
    """The renames must be on the disk before the journal goes."""
    with contextlib.suppress(OSError):  # a file system that has no such thing
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _recover(root: Path, journal: Path) -> Recovered | None:
    try:
        plain = json.loads(read_bytes(journal))
        phase, changes = plain["phase"], [Change(**one) for one in plain["changes"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{journal}: the journal of an unfinished port of {root} cannot be read ({error}); remove it"
        ) from error
    done = _replace(root, changes) if phase == REPLACING else Recovered(removed=_remove_staged(root, changes))
    journal.unlink()
    return done if done.finished or done.edited or done.removed else None


def _remove_staged(root: Path, changes: Iterable[Change]) -> int:
    removed = 0
    for change in changes:
        with contextlib.suppress(OSError):
            (root / change.path).with_name(change.staged).unlink()
            removed += 1
    return removed


@contextlib.contextmanager
def _journal(root: Path) -> Iterator[Path]:
    """Where the journal of a project is; nobody else is at it meanwhile. Raises UsageError."""
    import fcntl

    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    folder = state_folder()
    with (folder / f"port-{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"{root}: another kpt writes to this folder; wait until it is done") from error
        except OSError:
            pass  # a file system without locks
        yield folder / f"port-{name}.json"


def _write_journal(journal: Path, root: Path, phase: str, changes: Sequence[Change]) -> None:
    plain = {"root": str(root.resolve()), "phase": phase, "changes": [asdict(change) for change in changes]}
    write_whole(journal, json.dumps(plain), durable=True)


def _content_hash(path: Path) -> str | None:
    """The hash of a plain file's content; None for anything else."""
    try:
        return None if path.is_symlink() else _digest(read_bytes(path))
    except OSError:
        return None


def _hash(data: bytes | None) -> str | None:
    return None if data is None else _digest(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
