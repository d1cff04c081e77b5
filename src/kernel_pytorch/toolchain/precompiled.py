"""Headers that many sources begin with, parsed once. torch's take 18 s of CPU in every pass of every source; read back
from a precompiled file they take less than 2 s.

Only headers that a source begins with are taken: what is compiled does not change. The files outlive the run, so the
next port of any project with the same flags finds them. A file is tried before it is used: the compiler or a header may
have changed since.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.cache_folder import default_cache, private_folder

MAX_BYTES = 2 << 30
"""About twelve files: torch's headers make one of 175 MB. Files that are in use stay beyond that."""

_WITH_A_WORD = frozenset({"-Xfatbin", "-Xptxas"})  # NVIDIA's flags, which setup.py files pass on
_OF_NO_ACCOUNT = re.compile(r"-DTORCH_EXTENSION_NAME=|-W|-g(?:line-tables-only|gdb)?[0-3]?\Z")
_IN_USE_S = 600.0  # as long as a compiler may take: another process may have begun to read a file just now


class PrecompiledHeaders:
    """Precompiled files in a folder. Each is made by the first who asks; others who ask for it wait."""

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder or default_cache() / "precompiled"
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._made: dict[str, Path | None] = {}

    def file(self, command: Sequence[str], names: tuple[str, ...], make: Callable[[list[str]], bool]) -> Path | None:
        """The file for a compiler command without source and output. `make` runs a command and says if it worked."""
        key = hashlib.sha256("\0".join((*command, "", *names)).encode(errors="surrogateescape")).hexdigest()[:32]
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            made = self._made.get(key)
            if key not in self._made or (made is not None and not _is_there_and_used(made)):
                private_folder(self._folder)
                with one_builder(self._folder / key):  # a build starts its compilers side by side
                    made = self._kept(key, command, make) or self._make(key, command, names, make)
                self._made[key] = made
            return made

    def _kept(self, key: str, command: Sequence[str], make: Callable[[list[str]], bool]) -> Path | None:
        """The file of an earlier run, if the compiler still takes it."""
        kept, nothing = self._folder / f"{key}.pch", self._folder / "nothing.hip"
        if not kept.is_file():
            return None
        nothing.write_bytes(b"")
        if not make([*command, *read_back(kept), "-fsyntax-only", str(nothing)]) or not _is_there_and_used(kept):
            return None
        return kept

    def _make(
        self, key: str, command: Sequence[str], names: tuple[str, ...], make: Callable[[list[str]], bool]
    ) -> Path | None:
        source, made = self._folder / f"{key}.hip", self._folder / f"{key}.pch"
        text = "".join(f"#include <{name}>\n" for name in names).encode(errors="surrogateescape")
        if not source.is_file() or source.read_bytes() != text:
            source.write_bytes(text)
        begun = made.with_suffix(f".{os.getpid()}.new")
        # Templates are instantiated once, in the file: without it each source that reads the file pays for them.
        emit = ["-S", "-Xclang", "-emit-pch", "-Xclang", "-fpch-instantiate-templates"]
        try:
            if not make([*command, *emit, "-o", str(begun), str(source)]) or not begun.is_file():
                return None
            begun.replace(made)
        finally:
            begun.unlink(missing_ok=True)
        with self._lock:
            self._drop_oldest()
        return made

    def _drop_oldest(self) -> None:
        found = []
        for path in self._folder.glob("*.pch"):
            try:
                found.append((path.stat().st_mtime, path.stat().st_size, path))
            except FileNotFoundError:
                continue  # another process dropped it
        total = sum(size for _, size, _ in found)
        for used, size, path in sorted(found):
            if total <= self._max_bytes or used > time.time() - _IN_USE_S:
                return
            path.unlink(missing_ok=True)
            path.with_suffix(".hip").unlink(missing_ok=True)
            total -= size


def _is_there_and_used(path: Path) -> bool:
    """Marks a file as used now. False where another process dropped it."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def read_back(precompiled: Path) -> list[str]:
    """The flags with which a compiler takes a precompiled file."""
    return ["-Xclang", "-include-pch", "-Xclang", str(precompiled)]


def without_project(command: Sequence[str], own: Sequence[Path]) -> list[str]:
    """A command without what does not matter to headers of others, so that projects share their files.

    That is: the project's include folders, the name of its module, warnings, and debug information.
    """
    kept: list[str] = []
    words = iter(command)
    for word in words:
        if word.startswith("-I"):
            folder = word[2:] or next(words, "")
            kept += [] if any(Path(folder).is_relative_to(one) for one in own) else ["-I", folder]
        elif word in _WITH_A_WORD:
            next(words, "")
        elif not _OF_NO_ACCOUNT.match(word):
            kept.append(word)
    return kept


@dataclass(frozen=True)
class LeadingHeaders:
    """The headers a source begins with, and where they are kept. `own` are folders of the project; `of_no_account`
    are words of the command that do not matter to the headers: they share one file with commands without them."""

    names: tuple[str, ...]
    store: PrecompiledHeaders
    own: tuple[Path, ...] = ()
    of_no_account: tuple[str, ...] = ()
