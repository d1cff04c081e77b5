"""Processes that share work over many files."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def worker_pool(workers: int, initializer: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """A pool of copies of this process, where the system can copy one.

    The other ways start a Python anew, which looks for its first modules in the current folder: a stranger's.
    """
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if can_fork else None)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=initializer)
