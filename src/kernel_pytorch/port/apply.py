"""Writes patches into a project: each file whole or not at all, and the set of them recoverable.

Every new content is staged beside its file first; a journal names what is staged; only then are files replaced. A run
that is cut off before the journal has changed nothing. One that is cut off after it is finished by the next run.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch

JOURNAL = ".kpt-journal.json"
_STAGED = ".kpt-staged"


def apply_patches(root: Path, patches: Sequence[Patch]) -> None:
    """Apply all patches below `root`, or none. Raises UsageError naming the file that stands in the way."""
    finish_interrupted(root)
    for patch in patches:
        _check_unchanged(root, patch)
    staged: list[Path] = []
    try:
        for patch in patches:
            staged.append(_stage(root / patch.path, patch))
        _write_journal(root, [patch.path for patch in patches])
    except OSError as error:
        for path in staged:
            path.unlink(missing_ok=True)
        raise UsageError(
            f"{error.filename or root}: cannot be written ({error.strerror}); nothing was changed"
        ) from error
    finish_interrupted(root)


def finish_interrupted(root: Path) -> bool:
    """Put in place what a journal says is staged; True if there was one."""
    journal = root / JOURNAL
    try:
        paths = json.loads(journal.read_text(encoding="utf-8"))["staged"]
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{journal}: an unfinished port whose journal cannot be read ({error}); remove it by hand"
        ) from error
    for path in paths:
        staged = _staged_name(root / path)
        if staged.exists():  # gone where the interrupted run got this far
            staged.replace(root / path)
    journal.unlink()
    return True


def _check_unchanged(root: Path, patch: Patch) -> None:
    path = root / patch.path
    if not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path}: leads out of {root}; nothing was changed")
    try:
        current = path.read_bytes()
    except FileNotFoundError:
        current = None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); nothing was changed") from error
    if current != patch.before:
        fact = "already exists" if patch.before is None else "is not the file that was scanned"
        raise UsageError(f"{path}: {fact}; nothing was changed, run the command again")


def _staged_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{_STAGED}")


def _stage(path: Path, patch: Patch) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = _staged_name(path)
    with staged.open("wb") as file:
        file.write(patch.after)
        file.flush()
        os.fsync(file.fileno())
    if patch.before is not None:
        with contextlib.suppress(OSError):  # a file system without modes
            staged.chmod(stat.S_IMODE(path.stat().st_mode))
    return staged


def _write_journal(root: Path, paths: list[str]) -> None:
    partial = root / f"{JOURNAL}.part"
    partial.write_text(json.dumps({"staged": paths}), encoding="utf-8")
    partial.replace(root / JOURNAL)
