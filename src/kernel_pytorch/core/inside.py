"""Whether a path leads out of the folder it belongs to. Links are followed before it is judged."""

from __future__ import annotations

import os
from errno import ELOOP
from functools import lru_cache
from pathlib import Path

BOUND = "KPT_ROOT"  # set by `kpt mcp` for its calls: no text of a file outside may be in an answer


def bound_root() -> tuple[Path, ...]:
    """The folder that this process may show text from; none where the user asks, who may read anything."""
    named = os.environ.get(BOUND)
    return (Path(named),) if named else ()


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, with every link on the way followed, lies in a folder. A loop of links lies nowhere."""
    try:
        path.stat()
    except ValueError:  # a NUL in it
        return False
    except OSError as problem:  # a file that is not there yet may lie inside
        if problem.errno == ELOOP:
            return False
    return lies_below(os.path.realpath(path), root)


def lies_below(real: str, root: Path) -> bool:
    """The same for a path in which no links are left."""
    top = _real_root(str(root)) if root.is_absolute() else os.path.realpath(root)
    return real == top or real.startswith(top.rstrip("/") + "/")


@lru_cache(maxsize=64)
def _real_root(root: str) -> str:
    return os.path.realpath(root)
