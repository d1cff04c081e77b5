"""Where the copy of a project stands while its tests run: the same folder from run to run.

Compilers write the place of a source into what they make. In a folder of the same name an object of the last run, or
of the run on the other GPU, is found again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from kernel_pytorch.core.cache_folder import own_name, private_folder
from kernel_pytorch.core.errors import UsageError

_PLACES = 16
_LOCK = ".lock"


@contextmanager
def place_for_tests() -> Iterator[Path]:
    """An empty folder that no other process uses now, emptied again at the end."""
    for number in range(_PLACES):
        folder = Path(tempfile.gettempdir()) / f"{own_name('tests')}-{number}"
        held = _held(folder)
        if held is None:
            continue
        with held:
            _empty(folder)
            try:
                yield folder
            finally:
                _empty(folder)
            return
    with tempfile.TemporaryDirectory(prefix="kpt-tests-") as scratch:
        yield Path(scratch)


def _held(folder: Path) -> TextIO | None:
    """The lock of a folder; None where another process has it, or another user has the folder."""
    try:
        import fcntl

        private_folder(folder)
        handle = (folder / _LOCK).open("w")
    except (ImportError, OSError, UsageError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def _empty(folder: Path) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        elif entry.name != _LOCK:
            Path(entry.path).unlink(missing_ok=True)
