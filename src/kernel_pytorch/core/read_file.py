"""The one way to read a file that is not ours.

A tree may hold a named pipe or a link to /dev/zero under the name of any file, a link to a file of the user's that
is none of the project's business, or a file too large for the memory. Such a file is refused at once, with a reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from errno import EFBIG, EINVAL, ELOOP
from pathlib import Path
from typing import BinaryIO

from kernel_pytorch.core.inside import is_inside, lies_below

MAX_BYTES = 50_000_000
LARGE = 2_000_000_000
"""For what the user names, and what may be large: a recording, a log, an executable."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class FileRefused(OSError):
    """A file that is there and is not read. `strerror` says why."""


def open_plain(path: Path, root: Path | None = None) -> BinaryIO:
    """A plain file that lies below `root`, links followed, opened for reading. It never waits.

    Raises OSError: FileRefused where the file is there and is not one. It is looked at once more when it is open: by
    then another one may have taken its place.
    """
    _refuse_special(os.stat(path), path)  # noqa: PTH116 - to open a device may do something already
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_special(os.fstat(descriptor), path)
        if root is not None and not _is_below(descriptor, path, root):
            raise FileRefused(ELOOP, f"leads out of {root}", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, root: Path | None = None, limit: int = MAX_BYTES) -> bytes:
    """The content of a plain file of at most `limit` bytes; raises as `open_plain`, and for one that has more."""
    with open_plain(path, root) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read() if size <= limit else b""
        if max(size, len(data)) > limit:  # also one that grows, and those of /proc, which say that they have no size
            raise FileRefused(EFBIG, f"larger than {limit // 1_000_000} MB", str(path))
        return data


def read_if_there(path: Path, root: Path | None = None) -> bytes | None:
    """The content of a file; None where there is none that could be read."""
    try:
        return read_bytes(path, root)
    except OSError:
        return None


def read_text(path: Path, root: Path | None = None, limit: int = MAX_BYTES, errors: str = "strict") -> str:
    """The text of a UTF-8 file without a byte order mark. Raises OSError as `read_bytes`, and UnicodeDecodeError."""
    return read_bytes(path, root, limit).decode("utf-8-sig", errors)


def why_refused(
    path: Path, root: Path, limit: int = MAX_BYTES, is_inside: Callable[[Path, Path], bool] = is_inside
) -> str:
    """Why `read_bytes` would not read a file; empty where it would, and where there is none. Nothing is opened.

    Who asks about many files gives an `is_inside` that remembers: it is asked about the folder of what is no link.
    """
    try:
        found = path.lstat()
    except OSError:
        return ""
    is_link = stat.S_ISLNK(found.st_mode)
    if not is_inside(
        path if is_link else path.parent, root
    ):  # git can name a file behind a folder that is a link by now
        return "a link that leads out of the project"
    if is_link:
        try:
            found = path.stat()
        except OSError:
            return "a link to nothing"
    if not stat.S_ISREG(found.st_mode):
        return f"{_kind(found)}, not a plain file"
    return f"larger than {limit // 1_000_000} MB" if found.st_size > limit else ""


def _refuse_special(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(EINVAL, f"{_kind(found)}, not a plain file", str(path))


def _kind(found: os.stat_result) -> str:
    return next((name for is_one, name in _KINDS if is_one(found.st_mode)), "something else")


def _is_below(descriptor: int, path: Path, root: Path) -> bool:
    try:
        # What was opened, whatever the name means by now; cheaper than to resolve it, too.
        real = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 (a string is what is compared)
    except OSError:
        real = os.path.realpath(path)
    return lies_below(real, root)
