"""The child processes that run now, and the one way to end them.

A child gets a process group of its own, and may start others that have theirs (a `kpt emulate` that `kpt verify`
starts does). Ending one ends its group and everything it started. A command ends its children on SIGTERM (a CI time
limit), SIGHUP (the terminal was closed) and Ctrl-C, then unwinds, so that temporary folders are removed.

This module does not import subprocess: `kpt --help` needs none.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

GRACE_S = 1.0
"""Between asking a program to end and ending it: compilers remove their temporary files in it."""

KPT_GRACE_S = 5.0
"""The same for a kpt of our own, which ends its own children first, and they theirs."""

REPEATED_S = 1.0
"""A terminal that closes sends several signals at once: the first of them is acted on."""

ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)
)  # Windows has no SIGHUP


class Interrupted(KeyboardInterrupt):
    """A signal asked this command to end; the exit status is 128 + `number`."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__("interrupted" if number == signal.SIGINT else f"interrupted by {signal.Signals(number).name}")
        self.number = number


@dataclass(frozen=True)
class Child:
    """A process that was started. `has_group`: it leads a process group, all of which ends with it."""

    pid: int
    has_group: bool = True
    grace_s: float = GRACE_S
    first: int = signal.SIGTERM  # what asks it to end


_running: dict[int, Child] = {}
_held: list[bool] = []  # not empty while a child starts: it must be known before a signal is acted on
_pending: list[int] = []
_stopped_by: list[int] = []


def register(child: Child) -> None:
    """Note a child that runs, so that a signal to this process ends it."""
    for pid in [pid for pid in list(_running) if _has_ended(pid)]:
        _running.pop(pid, None)
    _running[child.pid] = child


def check_not_stopped() -> None:
    """Raises Interrupted once a signal has ended this command: threads must not start more children."""
    if _stopped_by:
        raise Interrupted(_stopped_by[0])


def end(children: Iterable[Child]) -> None:
    """End processes with all they started: asked first, ended by force when their grace is over."""
    ending = [child for child in children if not _has_ended(child.pid)]
    if not ending:
        return
    family = _descendants([child.pid for child in ending])
    for child in ending:
        _signal(child, child.first)
    over = time.monotonic() + max(child.grace_s for child in ending)
    # What it started gets the same time: a translator inside an emulated program has a folder of its own to remove.
    while time.monotonic() < over and not (all(_has_ended(one.pid) for one in ending) and not _alive(family)):
        time.sleep(0.005)
    for child in ending:
        _signal(child, signal.SIGKILL)
    for pid in _alive(family):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def signals_held() -> Iterator[None]:
    """A signal that comes inside is acted on at the end of the block. Signals reach the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held.append(True)
    try:
        yield
    finally:
        _held.pop()
        if _pending and not _held:
            _stop(_pending.pop())


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Inside, SIGTERM, SIGHUP and Ctrl-C end the children of this process and raise Interrupted.

    A signal that is ignored stays ignored (`nohup`). Outside the main thread nothing is changed.
    """
    owner = os.getpid()
    latest = [-REPEATED_S]

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a forked worker: its parent cleans up
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if time.monotonic() - latest[0] < REPEATED_S:
            return
        latest[0] = time.monotonic()
        if _held:
            _pending.append(number)
        else:
            _stop(number)

    before = {}
    with suppress(ValueError):  # not the main thread
        for number in ENDING_SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
        stopped = _stopped_by.copy()
        _stopped_by.clear()
        if stopped:
            # What came of the children's end, or of an Interrupted that was raised where Python ignores it (in a
            # destructor, while it forks), is not the command's own result.
            raise Interrupted(stopped[0]) from None


def _stop(number: int) -> None:
    _stopped_by.append(number)
    workers = []
    if "multiprocessing" in sys.modules:
        import multiprocessing

        workers = [Child(one.pid, False) for one in multiprocessing.active_children() if one.pid is not None]
    end([*_running.values(), *workers])
    raise Interrupted(number)


def _signal(child: Child, number: int) -> None:
    with suppress(OSError):
        if child.has_group:
            os.killpg(child.pid, number)
        elif not _has_ended(child.pid):
            os.kill(child.pid, number)


def _has_ended(pid: int) -> bool:
    """Whether a child of ours is over. It is not waited for: that is for the one who started it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
    except AttributeError:  # macOS before Python 3.13
        return False


def _descendants(pids: Iterable[int]) -> dict[int, bytes]:
    """Everything that runs below these processes, with the time each was started: a number may be given out again."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for pid in [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]:
        fields = _facts(pid)
        if fields:
            children.setdefault(int(fields[_PARENT]), []).append((pid, fields[_BORN]))
    found: dict[int, bytes] = {}
    pending = list(pids)
    while pending:
        for pid, born in children.get(pending.pop(), ()):
            if pid not in found:
                found[pid] = born
                pending.append(pid)
    return found


def _alive(family: Mapping[int, bytes]) -> list[int]:
    facts = {pid: _facts(pid) for pid in family}
    return [pid for pid, fields in facts.items() if fields and fields[_BORN] == family[pid] and fields[0] != b"Z"]


_PARENT, _BORN = 1, 19  # in what follows the program's name in /proc/PID/stat


def _facts(pid: int) -> Sequence[bytes]:
    """State, parent and so on of a process; empty where there is none."""
    try:
        # The name is in parentheses and may hold anything, parentheses too.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ()
    return fields if len(fields) > _BORN else ()
