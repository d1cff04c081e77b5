"""The one way to write a file: whole or not at all, and never through a link.

A tree that is not ours may hold a link under any name that we could write to. So the content goes to a new file
beside the target, under a name that nobody can guess, and takes the target's place by a rename, which replaces a link
and does not follow it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EINVAL
from pathlib import Path

from kernel_pytorch.core.errors import UsageError

SUFFIX = ".kpt-unfinished"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def write_whole(path: Path, content: bytes | str, *, durable: bool = False) -> None:
    """Write a file. One that is there keeps its mode. `durable`: on the disk, not only given to the system.

    Raises OSError, and then the old content is as it was. Text is UTF-8; what has no place in it becomes a `?`.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if is_stream(path):
        path.write_bytes(data)
        return
    with whole_file(path) as part, part.open("r+b") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def write_for_user(path: Path, content: bytes | str) -> None:
    """`write_whole` for a file that the user named; its folder is made. Raises UsageError naming the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def is_stream(path: Path) -> bool:
    """/dev/stdout, /dev/null, /dev/fd/3: named by the user, and nothing that could be replaced."""
    return path.is_absolute() and path.parts[1:2] == ("dev",)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """An empty file to write into, by us or by a compiler; it takes the place of `path` if the block ends well."""
    mode = mode_of(path)
    part = unfinished(path)
    create(part, private=mode is not None)
    try:
        yield part
        if mode is not None:
            with suppress(OSError):  # a file system without modes
                part.chmod(mode)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def create(path: Path, *, private: bool = False) -> None:
    """A new, empty file. Raises FileExistsError where there is anything, a link too."""
    os.close(os.open(path, _NEW, 0o600 if private else 0o666))


def unfinished(path: Path) -> Path:
    """A name beside `path`, hidden, to make it under; no other process or thread chooses the same."""
    # 255 bytes are the most that a name may have, and a character may take four.
    return path.with_name(f".{path.name[:40]}.{os.urandom(8).hex()}{SUFFIX}")


def mode_of(path: Path) -> int | None:
    """The permissions of a plain file; None where there is none. Raises OSError for what must not be replaced."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return None  # the link goes, what it points to stays as it is
    if stat.S_ISDIR(found.st_mode):
        raise OSError(EEXIST, "a folder is in the way", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(EINVAL, "not a plain file: a device, a pipe or a socket is not replaced", str(path))
    return stat.S_IMODE(found.st_mode) & 0o777
