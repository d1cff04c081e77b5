"""Python's garbage collector, kept away from work that makes millions of small objects and no garbage."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_MOST_UNCOLLECTED = 12_000_000
_uncollected = 0  # bytes of the sources whose tokens and nodes may lie around


@contextmanager
def collector_away(size: int) -> Iterator[None]:
    """Keeps the collector away from work on sources of `size` bytes. It runs before the next, once much has piled up.

    Almost all tokens and syntax nodes live as long as their unit: to look for garbage among them over and over takes a
    third of the time and finds nothing.
    """
    global _uncollected
    _leave_the_rest_at_exit()
    if _uncollected > _MOST_UNCOLLECTED:
        gc.collect()
        _uncollected = 0
    _uncollected += size
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # What is there counts as old now: else the collector would go through all of it at once.
            gc.freeze()
            gc.unfreeze()
            gc.enable()


@cache
def _leave_the_rest_at_exit() -> None:
    """Python looks for garbage once more when it ends, which takes a tenth of the time that a small tree needs. The
    memory goes back to the system anyway."""
    atexit.register(gc.freeze)
