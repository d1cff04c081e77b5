"""The headers of others that a source begins with, in the order in which a compiler meets them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# Headers that are worth keeping precompiled.
_SLOW = re.compile(r"(?:torch|ATen|c10|pybind11)/")
# Each of these includes nearly all of torch, and does not ask what was included before it.
_WHOLE = re.compile(r"torch/(?:extension|torch|all|script|library|types|python)\.h|ATen/ATen\.h")
_RUNTIME = "hip/hip_runtime.h"
_NOTHING = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/|#[ \t]*pragma[ \t]+once\b[^\n]*\n)*", re.DOTALL)
_GUARD = re.compile(rb"#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1[ \t\r]*\n")
_INCLUDE = re.compile(rb"#[ \t]*include[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)[^\n]*(?:\n|\Z)")
_CLOSED = re.compile(rb"#[ \t]*endif\b[^\n]*\s*\Z")
_DEPTH = 20


def leading_headers(source: Path, folders: Sequence[Path]) -> tuple[str, ...]:
    """Names of the headers, up to the last slow one. A header of the project is entered, if it begins so too."""
    names: list[str] = []
    _collect(source, folders, names, _DEPTH)
    last = max((index for index, name in enumerate(names) if _SLOW.match(name)), default=-1)
    return tuple(names[: last + 1])


def shared_headers(leading: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """For each source what is worth keeping of the headers it begins with.

    Where one of them is nearly all of torch, that one: other projects begin with it too, and find it ready. Else what
    the source has in common with all that begin alike, up to the first slow header. Where no other does, nothing: a
    file that is read once takes longer to make than it saves.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    shared: dict[str, tuple[str, ...]] = {}
    for path, names in leading.items():
        whole = next((index for index, name in enumerate(names) if _WHOLE.fullmatch(name)), None)
        if whole is not None:
            shared[path] = (*((_RUNTIME,) if _RUNTIME in names[:whole] else ()), names[whole])
            continue
        first = next((index for index, name in enumerate(names) if _SLOW.match(name)), None)
        if first is not None:
            groups.setdefault(names[: first + 1], []).append(path)
    for paths in (paths for paths in groups.values() if len(paths) > 1):
        common = _common([leading[path] for path in paths])
        shared.update(dict.fromkeys(paths, common))
    return shared


def _common(sequences: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    common: list[str] = []
    for names in zip(*sequences, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return tuple(common)


def _collect(file: Path, folders: Sequence[Path], names: list[str], depth: int) -> bool:
    """Adds a file's leading headers. Says whether the file has nothing but them."""
    try:
        data = file.read_bytes()
    except OSError:
        return False
    at = _after(_NOTHING, data, 0)
    guard = _GUARD.match(data, at)
    at = guard.end() if guard else at
    while True:
        at = _after(_NOTHING, data, at)
        found = _INCLUDE.match(data, at)
        if found is None:
            return at == len(data) or (guard is not None and _CLOSED.match(data, at) is not None)
        at = found.end()
        quoted = found[1] is not None
        name = (found[1] or found[2]).decode("utf-8", "surrogateescape").strip()
        own = _own_file(name, [*([file.parent] if quoted else []), *folders])
        if own is None:
            names.append(name)
        elif depth == 0 or not _collect(own, folders, names, depth - 1):
            return False


def _own_file(name: str, folders: Sequence[Path]) -> Path | None:
    return next((file for folder in folders if (file := folder / name).is_file()), None)


def _after(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at
