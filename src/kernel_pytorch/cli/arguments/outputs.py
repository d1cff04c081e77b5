"""What a verb writes at its end: what is wrong with the place is said before the work, not after it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kernel_pytorch.core.errors import UsageError

# Options that name a file to write, and those that name a folder (or, for one source, a file), by argparse's name.
FILES = {name: f"--{name}" for name in ("html", "png", "save", "history", "trace")}
FOLDERS = {"out": "--out", "output": "--out"}


def check_outputs(args: argparse.Namespace) -> None:
    """Raises UsageError where something that was asked for could not be written."""
    for name, option in {**FILES, **FOLDERS}.items():
        value = getattr(args, name, None)
        if not isinstance(value, str | Path):
            continue
        path = Path(value)
        if name in FILES:
            _check_file(option, path)
        there = next((one for one in (path, *path.parents) if one.exists()), Path())
        if there.is_dir() and not os.access(there, os.W_OK | os.X_OK):
            raise UsageError(f"{option} {path}: you may not write to {there}; name another place")


def check_in_place(path: Path, instead: str) -> None:
    """Raises UsageError where a folder that is to be changed in place may not be. `instead` is what to do."""
    if path.is_dir() and not os.access(path, os.W_OK | os.X_OK):
        raise UsageError(f"{path}: you may not write to it; {instead}")


def _check_file(option: str, path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{option} {path}: a folder; name a file in it, such as {path / 'report'}.{option[2:]}")
    if not path.parent.exists():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first: mkdir -p {path.parent}")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: {path.parent} is a file, and a folder is needed")
