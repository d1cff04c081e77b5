"""Ranks that watch each other, so that the failure of one ends all of them, with its reason, within a time limit.

Every rank writes a heartbeat to the job's store and reads its neighbour's. A rank that fails says so there; a rank
that dies without a word is missed. A rank stuck in a collective is given time to notice by itself and is then ended.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed import Store

_FAILED = "kpt/failed"
_SEPARATOR = "\n"


class Watch:
    """The watching thread of one rank. `end` is called, once, if the rank must be ended from outside."""

    def __init__(
        self,
        store: Store,
        rank: int,
        world_size: int,
        *,
        interval_s: float = 0.5,
        silence_limit_s: float = 30.0,
        grace_s: float = 5.0,
        end: Callable[[str], None] | None = None,
    ) -> None:
        self.rank = rank
        self.world_size = world_size
        self._main_store = store
        self._store = store.clone() if hasattr(store, "clone") else store
        self._interval_s = interval_s
        self._silence_limit_s = silence_limit_s
        self._grace_s = grace_s
        self._end = end if end is not None else end_process
        self._stopped = threading.Event()
        self._learnt = threading.Event()
        self._failure: tuple[int, str] | None = None
        self._thread = threading.Thread(target=self._run, name="kernel-pytorch-watch", daemon=True)
        self._thread.start()

    def announce(self, reason: str) -> None:
        """Tell the other ranks that this one fails. The first announcement of a job stands."""
        text = f"{self.rank}{_SEPARATOR}{reason}"
        try:
            self._main_store.compare_set(_FAILED, "", text)
        except Exception as error:  # the store may be what broke; the others then miss this rank
            sys.stderr.write(f"rank {self.rank}: could not tell the other ranks: {error}\n")

    def failure(self, wait_s: float = 0.0) -> tuple[int, str] | None:
        """The failed rank and its reason, waiting up to `wait_s` to learn of it."""
        self._learnt.wait(wait_s)
        return self._failure

    def stop(self, *, leaves: bool = True) -> None:
        """End the watching. A rank that leaves says so, and its neighbour no longer expects a heartbeat."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        # Wait for as long as a store may be slow: Python aborts where it ends while a thread is inside a call to it.
        self._thread.join(timeout=self._silence_limit_s)
        if not leaves:
            return
        try:
            self._main_store.set(f"kpt/alive/{self.rank}", "left")
        except Exception:  # the job is over and its store may be gone
            return

    def _run(self) -> None:
        neighbour = (self.rank + 1) % self.world_size
        beats, last, heard = 0, b"", time.monotonic()
        while not self._stopped.wait(self._interval_s):
            beats += 1
            try:
                self._store.set(f"kpt/alive/{self.rank}", str(beats))
                known = self._store.get(_FAILED) if self._store.check([_FAILED]) else b""
                beat = b""
                if self._store.check([f"kpt/alive/{neighbour}"]):
                    beat = self._store.get(f"kpt/alive/{neighbour}")
            except Exception as error:
                if not self._stopped.is_set():
                    self._failed(0, f"the job's store is gone, and with it rank 0 or torchrun ({_first_line(error)})")
                return
            if known:
                rank, _, reason = known.decode(errors="replace").partition(_SEPARATOR)
                self._failed(int(rank), reason)
                return
            if beat != last:
                last, heard = beat, time.monotonic()
            elif beat != b"left" and time.monotonic() - heard > self._silence_limit_s:
                reason = f"not heard of for {self._silence_limit_s:.0f} s: killed, out of host memory, or stopped"
                self._store.compare_set(_FAILED, "", f"{neighbour}{_SEPARATOR}{reason}")
                self._failed(neighbour, reason)
                return

    def _failed(self, rank: int, reason: str) -> None:
        self._failure = (rank, reason)
        self._learnt.set()
        if rank == self.rank:
            return  # this rank is on its way out by itself
        if not self._stopped.wait(self._grace_s):
            self._end(stop_message(self.rank, self.world_size, rank, reason))


def stop_message(rank: int, world_size: int, failed_rank: int, reason: str) -> str:
    """What a rank says that stops because of another."""
    return f"rank {rank} of {world_size} stops because rank {failed_rank} failed: {reason}"


def end_process(message: str) -> None:
    """Print the message and end this process: its main thread is stuck in a collective that will not return."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(1)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
