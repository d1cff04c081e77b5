"""Says that something is built for the first time. It takes longer than people expect, and the next run is fast."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock


@contextmanager
def first_build(what: str, parts: int, folder: Path) -> Iterator[Callable[[], None]]:
    """Announce on stderr that `what` is built into `folder`. Call what this gives after each of the `parts`.

    A terminal gets one line that counts the parts. Elsewhere there is one line in all: a log needs no more.
    """
    out, done, lock, started = sys.stderr, 0, Lock(), time.monotonic()
    is_terminal = out is not None and out.isatty()

    def show(text: str, end: str) -> None:
        if out is not None:
            print(f"\r\x1b[K{text}" if is_terminal else text, end=end, file=out, flush=True)

    def part_done() -> None:
        nonlocal done
        with lock:
            done += 1
            if is_terminal:
                show(f"building {what}, once: {done} of {parts} parts", end="")

    show(f"building {what}, once: the next run finds it in {folder}", end="" if is_terminal else "\n")
    try:
        yield part_done
    except BaseException:
        if is_terminal:
            show("", end="")  # what comes next is the error, on a line of its own
        raise
    if is_terminal:
        show(f"built {what} in {time.monotonic() - started:.0f} s: the next run finds it in {folder}", end="\n")
