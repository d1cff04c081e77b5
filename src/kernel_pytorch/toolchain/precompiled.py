"""Headers that many sources begin with, parsed once. torch's take 18 s of CPU in every pass of every source; read back
from a precompiled file they take less than 2 s.

Only headers that a source begins with are taken, in its own order: what is compiled does not change.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


class PrecompiledHeaders:
    """Precompiled files in a folder. Each is made by the first who asks; others who ask for it wait."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._made: dict[str, Path | None] = {}

    def file(self, command: Sequence[str], names: tuple[str, ...], make: Callable[[list[str]], bool]) -> Path | None:
        """The file for a compiler command without source and output. `make` runs a command and says if it worked."""
        key = hashlib.sha256("\0".join((*command, "", *names)).encode(errors="surrogateescape")).hexdigest()[:16]
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._made:
                self._made[key] = self._make(key, command, names, make)
            return self._made[key]

    def _make(
        self, key: str, command: Sequence[str], names: tuple[str, ...], make: Callable[[list[str]], bool]
    ) -> Path | None:
        source, made = self._folder / f"{key}.hip", self._folder / f"{key}.pch"
        self._folder.mkdir(parents=True, exist_ok=True)
        source.write_text("".join(f"#include <{name}>\n" for name in names), errors="surrogateescape")
        # Templates are instantiated once, in the file: without it each source that reads the file pays for them.
        emit = ["-S", "-Xclang", "-emit-pch", "-Xclang", "-fpch-instantiate-templates"]
        done = make([*command, *emit, "-o", str(made), str(source)])
        return made if done and made.is_file() else None


def without_project(command: Sequence[str], own: Sequence[Path]) -> list[str]:
    """A command without the project's include folders and the name of its module: the headers are not the project's."""
    kept: list[str] = []
    words = iter(command)
    for word in words:
        if word == "-I":
            folder = next(words, "")
            kept += [] if any(Path(folder).is_relative_to(one) for one in own) else [word, folder]
        elif not word.startswith("-DTORCH_EXTENSION_NAME="):
            kept.append(word)
    return kept


@dataclass(frozen=True)
class LeadingHeaders:
    """The headers a source begins with, and where they are kept. `own` are folders of the project."""

    names: tuple[str, ...]
    store: PrecompiledHeaders
    own: tuple[Path, ...] = ()
