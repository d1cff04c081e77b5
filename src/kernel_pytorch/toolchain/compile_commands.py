"""Include paths, defines and language standard of a file from a `compile_commands.json`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_text

_DATABASE = "compile_commands.json"


@dataclass(frozen=True)
class FileFlags:
    """What a compilation database says about one file."""

    include_dirs: tuple[Path, ...]
    defines: tuple[str, ...]
    std: str | None
    extra: tuple[str, ...]  # system include paths, forced includes and undefines


class CompileCommands:
    """A compilation database, read once."""

    def __init__(self, path: Path) -> None:
        self.path = path / _DATABASE if path.is_dir() else path
        try:
            entries = json.loads(read_text(self.path))
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read ({error.strerror})") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{self.path}: not a JSON file ({error})") from error
        if not isinstance(entries, list) or not all(isinstance(e, dict) and "file" in e for e in entries):
            raise UsageError(f"{self.path}: not a compilation database (a list of entries with `file` and `command`)")
        self._entries: dict[Path, dict[str, object]] = {}
        for entry in entries:
            directory = self._directory(entry)
            try:
                self._entries.setdefault((directory / str(entry["file"])).resolve(), entry)
            except (OSError, RuntimeError, ValueError) as error:
                raise UsageError(f"{self.path}: {entry['file']!r} is not the name of a file") from error

    def _directory(self, entry: dict[str, object]) -> Path:
        return self.path.parent / str(entry.get("directory", "."))

    def flags_for(self, file: Path) -> FileFlags:
        """The flags of a file; raises UsageError where the database does not have it."""
        entry = self._entries.get(file.resolve())
        if entry is None:
            raise UsageError(f"{file}: not in {self.path}, which has {counted(len(self._entries), 'file')}")
        arguments = entry.get("arguments")
        if isinstance(arguments, list):
            words = [str(word) for word in arguments]
        else:
            try:
                words = shlex.split(str(entry.get("command", "")))
            except ValueError as error:
                raise UsageError(f"{self.path}: the command of {file} cannot be split ({error})") from error
        return _flags(words[1:], self._directory(entry))


def _flags(words: Sequence[str], directory: Path) -> FileFlags:
    include_dirs: list[Path] = []
    defines: list[str] = []
    extra: list[str] = []
    std: str | None = None
    for flag, value in _pairs(words):
        if flag == "-I":
            include_dirs.append(directory / value)
        elif flag == "-D":
            defines.append(value)
        elif flag == "-U":
            extra.append(f"-U{value}")
        elif flag in ("-isystem", "-iquote"):
            extra += [flag, str(directory / value)]
        elif flag == "-include":
            beside = directory / value
            extra += [flag, str(beside) if beside.is_file() else value]
        elif flag == "-std=":
            std = value
    return FileFlags(tuple(include_dirs), tuple(defines), std, tuple(extra))


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The flags that matter, whether the value is part of the word or the next one."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in ("-std", "--std") or word.startswith(("-std=", "--std=")):
            yield "-std=", word.partition("=")[2]
            continue
        for flag in ("-isystem", "-iquote", "-include", "-I", "-D", "-U"):
            if word == flag and index < len(words):
                yield flag, words[index]
                index += 1
                break
            if word.startswith(flag) and len(word) > len(flag) and not word.startswith("-include-"):
                yield flag, word[len(flag) :]
                break
