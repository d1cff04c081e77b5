"""One process at a time makes a thing that takes long; the others wait for it and then find it made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_builder(target: Path) -> Iterator[None]:
    """Hold the right to make `target`. Ask inside whether it is there: another process may just have made it.

    Only work is saved by this. Where files cannot be locked, each process builds, and the last rename wins.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{target.name}.lock").open("w") as handle:
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        yield
