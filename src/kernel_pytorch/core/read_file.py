"""The one way to read a file that is not ours.

A tree may hold a named pipe or a link to /dev/zero under the name of any file, a link to a file of the user's that
is none of the project's business, or a file too large for the memory. Such a file is refused at once, with a reason.
"""

from __future__ import annotations

import os
import stat
from errno import EFBIG, EINVAL, ELOOP
from functools import lru_cache
from pathlib import Path

MAX_BYTES = 50_000_000
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


def read_bytes(path: Path, root: Path | None = None, limit: int = MAX_BYTES) -> bytes:
    """The content of a plain file of at most `limit` bytes that lies below `root`, links followed.

    Raises OSError: FileRefused where the file is there and is none of these. It never waits.
    """
    _refuse_special(os.stat(path), path)  # noqa: PTH116 - to open a device may do something already
    descriptor = os.open(path, _FLAGS)
    try:
        found = os.fstat(descriptor)
        _refuse_special(found, path)  # by now another file may have taken its place
        if root is not None and not _is_below(descriptor, path, root):
            raise FileRefused(ELOOP, f"leads out of {root}", str(path))
        if found.st_size > limit:
            raise FileRefused(EFBIG, f"{found.st_size} bytes, more than the {limit} that are read", str(path))
        data = _all(descriptor, found.st_size, limit)
        if len(data) > limit:
            raise FileRefused(EFBIG, f"more than the {limit} bytes that are read", str(path))
        return data
    finally:
        os.close(descriptor)


def read_text(path: Path, root: Path | None = None, limit: int = MAX_BYTES, errors: str = "strict") -> str:
    """The text of a UTF-8 file without a byte order mark. Raises OSError as `read_bytes`, and UnicodeDecodeError."""
    return read_bytes(path, root, limit).decode("utf-8-sig", errors)


def why_refused(path: Path, root: Path, limit: int = MAX_BYTES) -> str:
    """Why `read_bytes` would not read a file; empty where it would, and where there is none. Nothing is opened."""
    try:
        found = path.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(found.st_mode):
        if not _lies_below(os.path.realpath(path), root):
            return "a link that leads out of the project"
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


def _all(descriptor: int, expected: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit + 1  # the size may have grown, and files of /proc say that they have none
    while left > 0:
        part = os.read(descriptor, min(left, max(expected + 1, 1 << 16)))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_below(descriptor: int, path: Path, root: Path) -> bool:
    try:
        # What was opened, whatever the name means by now; cheaper than to resolve it, too.
        real = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 (a string is what is compared)
    except OSError:
        real = os.path.realpath(path)
    return _lies_below(real, root)


def _lies_below(real: str, root: Path) -> bool:
    top = _real_root(str(root)) if root.is_absolute() else os.path.realpath(root)
    return real == top or real.startswith(top.rstrip("/") + "/")


@lru_cache(maxsize=64)
def _real_root(root: str) -> str:
    return os.path.realpath(root)
