"""Processes that share work over many files."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from kernel_pytorch.core.children import check_not_stopped


def can_copy_process() -> bool:
    """Whether the workers of a pool are copies of this process, and so have what is in its memory."""
    return "fork" in multiprocessing.get_all_start_methods()


def worker_pool(workers: int, initializer: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """A pool of copies of this process, where the system can copy one.

    The other ways start a Python anew, which looks for its first modules in the current folder: a stranger's. Raises
    Interrupted once a signal has ended the command.
    """
    check_not_stopped()  # workers that a signal has ended must not be started again
    context = multiprocessing.get_context("fork" if can_copy_process() else None)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=initializer)
