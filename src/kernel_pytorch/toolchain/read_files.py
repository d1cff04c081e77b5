"""Which files a compiler read: those of a stranger's project may name any file, and its messages show what is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from kernel_pytorch.core.inside import lies_below

LIST_FILES = "-H"  # clang and gcc then name every file they open, behind a dot for each level
_LISTED = re.compile(r"^\.+ (?P<path>.+)\n?", re.MULTILINE)
_OF_THE_SYSTEM = ("/usr/include", "/usr/lib", "/usr/lib64", "/usr/local/include")


def without_list(output: str) -> str:
    """What the compiler said besides the list."""
    return _LISTED.sub("", output)


def first_outside(output: str, directory: Path | None, allowed: Iterable[Path]) -> Path | None:
    """The first file of the list that lies in none of the folders, with links followed."""
    folders = [*allowed, *map(Path, _OF_THE_SYSTEM)]
    for found in dict.fromkeys(match["path"] for match in _LISTED.finditer(output)):
        path = (directory or Path()) / found
        real = os.path.realpath(path)
        if not any(lies_below(real, folder) for folder in folders):
            return path
    return None
