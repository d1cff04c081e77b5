"""A time limit that also ends a compilation.

A compile is one long call. A timer signal interrupts it between two steps of the interpreter; it is raised past
`except Exception`, since torch.compile would take it for a failure of its own and go on without compiling.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LEAST = 0.001
# What is raised inside a destructor or a weak reference's callback is lost: it rings again until it was heard.
_AGAIN = 5.0
# An import that is broken off leaves half of its modules behind, and the next one fails: it is let come to its end.
_SOON, _LONGEST_IMPORT = 0.02, 20.0


class OutOfTime(BaseException):
    """The time for this piece of work is over."""


def _imports_under_way(frame: FrameType | None) -> int:
    """How many import statements the frame and its callers are in."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename.startswith("<frozen importlib")
        frame = frame.f_back
    return count


def can_interrupt() -> bool:
    """Signals reach the main thread only, and Windows has no timer signal."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime inside the block after `seconds`. Where nothing can interrupt, the block runs to its end."""
    if not can_interrupt():
        yield
        return

    outside = _imports_under_way(sys._getframe())
    last = time.monotonic() + seconds + _LONGEST_IMPORT

    def ring(number: int, frame: FrameType | None) -> None:
        if _imports_under_way(frame) > outside and time.monotonic() < last:
            signal.setitimer(signal.ITIMER_REAL, _SOON, _AGAIN)
        else:
            raise OutOfTime

    # A caller's own alarm, which may be a limit around this one, comes back with what it has left. If that is less, the
    # block ends then, and the caller's alarm rings right after.
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, ring)
    theirs, interval = signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, max(min(seconds, theirs) if theirs else seconds, _LEAST), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if theirs:
            signal.setitimer(signal.ITIMER_REAL, max(_LEAST, theirs - (time.monotonic() - began)), interval)
