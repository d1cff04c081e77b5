"""Sources that other sources include: `#include "kernels.cu"`. They are parts, and no compiler gets them alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.cxx.includes import includes_of

_SOURCES = (".cu", ".hip")


def fragments(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """The .cu and .hip files among `paths` that another of them includes, beside it or by the end of its path."""
    every = tuple(paths)
    sources = [path for path in every if path.endswith(_SOURCES)]
    found: set[str] = set()
    for path in every:
        data = read_if_there(root / path, root) or b""
        if not any(suffix.encode() in data for suffix in _SOURCES):
            continue
        for include in includes_of(data):
            if include.name.endswith(_SOURCES):
                beside = PurePosixPath(os.path.normpath(PurePosixPath(path).parent / include.name)).as_posix()
                tail = "/" + include.name.lstrip("./")
                named = [one for one in sources if one == beside] or [
                    one for one in sources if f"/{one}".endswith(tail)
                ]
                found.update(one for one in named if one != path)
    return frozenset(found)
