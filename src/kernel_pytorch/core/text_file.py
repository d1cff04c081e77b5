"""Whether a file that is called a source is one: a compiler answers a binary with a wall of errors."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.core.read_file import open_plain

_LOOKED_AT = 8192
SOURCE_SUFFIXES = frozenset({".hip", ".cu", ".cpp", ".cc", ".cxx", ".py"})


def is_text(path: Path) -> bool:
    """False for a file that has a NUL byte near its beginning, as no source has."""
    with open_plain(path) as file:
        return b"\0" not in file.read(_LOOKED_AT)


def is_binary_source(path: Path) -> bool:
    """A file with the name of a source and the content of something else."""
    return path.suffix in SOURCE_SUFFIXES and not is_text(path)
