"""Paths that a client names, kept inside one folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError


@dataclass(frozen=True)
class Root:
    """The folder that arguments may name things in. Links are followed before it is judged where they lead."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> Root:
        """A root at an existing folder."""
        if not folder.is_dir():
            raise UsageError(f"--root {folder}: no such folder")
        return cls(folder.resolve())

    def inside(self, text: str) -> Path:
        """The path, absolute; relative ones start at the root. Raises UsageError for what leads out of it."""
        if not text or "\0" in text:
            raise UsageError(f"{text!r}: not a path")
        try:
            path = (self.folder / text).resolve()
        except (OSError, RuntimeError) as problem:  # a loop of links, a name too long
            raise UsageError(f"{text}: cannot be resolved ({problem})") from problem
        if not path.is_relative_to(self.folder):
            raise UsageError(f"{text}: outside {self.folder}, the folder this server was started for (kpt mcp --root)")
        return path

    def target(self, text: str) -> str:
        """`file.py:function` with the file inside; module names are not taken, they could be anything installed."""
        file, colon, function = text.rpartition(":")
        if not colon or not file.endswith(".py") or not function.isidentifier():
            raise UsageError(f"{text}: expected path/to/file.py:function")
        return f"{self.inside(file)}:{function}"
