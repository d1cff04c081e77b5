"""What is wrong with a path that a person gave: the file, the fact, the next step."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kernel_pytorch.core.errors import UsageError


def require_folder(path: Path, for_a_file: str) -> None:
    """Raises UsageError unless the path is a folder. `for_a_file` is what to do where it is a file."""
    if path.is_dir():
        return
    if path.exists():
        raise UsageError(f"{path}: a file, and a folder is needed; {for_a_file}")
    raise UsageError(f"{path}: no such folder")


def file_problem(error: OSError) -> str:
    """The error as `file: fact; next step`.

    Where a folder may not be entered, it is the one named: `closed`, not `closed/pyproject.toml`.
    """
    path = Path(os.fsdecode(error.filename))
    if isinstance(error, FileExistsError | NotADirectoryError):
        files = [one for one in (path, *path.parents) if one.is_file()]
        return f"{files[0] if files else path}: a file, and a folder is needed; name another path"
    if error.errno == errno.EROFS:
        return f"{path}: {error.strerror}; name a folder that you may write to"
    if not isinstance(error, PermissionError):
        return f"{path}: {error.strerror}"
    closed = [folder for folder in path.parents if folder.is_dir() and not os.access(folder, os.X_OK)]
    named = closed[-1] if closed else path
    return f"{named}: {error.strerror}; `ls -ld` shows whose it is, `chmod` or its owner can give you access"
