"""Whether a path leads out of the folder it belongs to. Links are followed before it is judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

BOUND = "KPT_ROOT"  # set by `kpt mcp` for its calls: no text of a file outside may be in an answer


def bound_root() -> tuple[Path, ...]:
    """The folder that this process may show text from; none where the user asks, who may read anything."""
    named = os.environ.get(BOUND)
    return (Path(named),) if named else ()


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, with every link on the way followed, lies in a folder. A loop of links lies nowhere."""
    return inside(root)(path)


def inside(root: Path) -> Callable[[Path], bool]:
    """The same question for many paths of one folder: folders on the way are resolved once."""
    top = root.resolve()
    folders: dict[Path, Path] = {}

    def answer(path: Path) -> bool:
        try:
            if path.name in ("", "..") or path.is_symlink():
                return path.resolve().is_relative_to(top)
            if path.parent not in folders:
                folders[path.parent] = path.parent.resolve()
            return (folders[path.parent] / path.name).is_relative_to(top)
        except (OSError, RuntimeError, ValueError):  # a loop, a name too long, a NUL in it
            return False

    return answer
