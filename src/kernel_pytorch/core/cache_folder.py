"""Folders of the user's own: what takes long to make, and what must outlive a run that is cut off.

What lies in them is run, or decides what is written. So nobody else may be able to put anything there: each is a
folder of this user that only this user may write to, and one that is not is refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kernel_pytorch.core.errors import UsageError

CACHE, STATE = "KPT_CACHE_DIR", "KPT_STATE_DIR"


def default_cache() -> Path:
    """The user's own folder in $KPT_CACHE_DIR, else in $XDG_CACHE_HOME/kernel_pytorch or ~/.cache/kernel_pytorch."""
    return private_folder(_base(CACHE, "XDG_CACHE_HOME", ".cache") / _own_name(), CACHE)


def state_folder() -> Path:
    """Like `default_cache`, for what must not be lost: $KPT_STATE_DIR, $XDG_STATE_HOME, ~/.local/state.

    A home that cannot be written to (containers have such) is no reason to refuse a port: then a folder of the user's
    own among the temporary files serves.
    """
    try:
        return private_folder(_base(STATE, "XDG_STATE_HOME", ".local/state") / _own_name(), STATE)
    except UsageError:
        if os.environ.get(STATE):
            raise
        import tempfile

        return private_folder(Path(tempfile.gettempdir()) / f"kernel_pytorch-state-{_own_name()}", STATE)


def private_folder(path: Path, variable: str = "") -> Path:
    """Make a folder for this user alone, or make sure that one which is there is. Raises UsageError.

    `variable` is what the user sets to have another one.
    """
    way_out = f"; {variable} names another folder" if variable else ""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise UsageError(f"{error.filename or path}: cannot be used as a folder ({error.strerror}){way_out}") from error
    if problem := not_private(found):
        raise UsageError(f"{path}: {problem}, so what is in it cannot be trusted{way_out}")
    return path


def own_folder_in(shared: Path, kind: str) -> Path:
    """This user's folder below one that all users may share, such as /tmp/hip_cache; see `private_folder`."""
    make_shared(shared)
    return private_folder(shared / own_name(kind))


def own_name(kind: str, version: int = 1) -> str:
    """How this user's folder below a shared one is called."""
    return f"kpt-{kind}-v{version}-{_own_name()}"


def make_shared(directory: Path) -> None:
    """Make `directory`, open to other users' folders where its parent is (/tmp), private elsewhere."""
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        if not directory.is_dir():
            raise
        return
    if directory.parent.stat().st_mode & stat.S_ISVTX:
        directory.chmod(0o1777)


def not_private(found: os.stat_result) -> str:
    """Why others than this user could have made what is in a folder; empty where they could not."""
    if not stat.S_ISDIR(found.st_mode):
        return "not a folder but a link or a file"
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return f"belongs to another user ({found.st_uid})"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):o}; chmod go-w if that was you)"
    return ""


def _own_name() -> str:
    return f"u{os.geteuid()}" if hasattr(os, "geteuid") else "own"


def _base(own: str, xdg: str, usual: str) -> Path:
    if named := os.environ.get(own):
        return Path(named)
    base = os.environ.get(xdg)
    try:
        return (Path(base) if base else Path.home() / usual) / "kernel_pytorch"
    except RuntimeError as error:  # a user without a home
        raise UsageError(f"{error}: set {own} to a folder for kpt's files") from error
