"""Waits, when Python ends, for torch's threads of backward passes.

torch has a thread for each GPU. After a backward pass it lets go of what the pass has kept, a Python object among it.
Where Python is ending meanwhile, Python ends that thread when it asks for the interpreter's lock, in the middle of a
destructor, and the process aborts: "terminate called without an active exception". A program that ends straight after
its last backward pass can meet this on a real GPU too. Of 150 runs of one on two busy cores 15 did here.
"""

from __future__ import annotations

import atexit
import time
from functools import cache
from pathlib import Path

_NAME = "pt_autograd_"
_TASKS = Path("/proc/self/task")
_STEP_S = 0.001
_STEPS = 3  # so often in a row a thread has to be seen asleep: it may also sleep for a lock on its way
_LIMIT_S = 10.0


@cache
def wait_at_exit() -> None:
    """From now on; once a process."""
    atexit.register(wait_until_asleep)


def wait_until_asleep(limit_s: float = _LIMIT_S) -> None:
    """Until every such thread waits for work. Sleeping gives up Python's lock, which they may want."""
    end = time.monotonic() + limit_s
    asleep = 0
    while asleep < _STEPS and time.monotonic() < end:
        threads = _backward_threads()
        if not threads:
            return
        time.sleep(_STEP_S)
        asleep = asleep + 1 if all(map(_is_asleep, threads)) else 0


def _backward_threads() -> list[Path]:
    return [task for task in _TASKS.iterdir() if _read(task / "comm").startswith(_NAME)] if _TASKS.is_dir() else []


def _is_asleep(task: Path) -> bool:
    """A thread that has ended sleeps too."""
    return _read(task / "stat").rpartition(") ")[2][:1] in ("S", "")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
