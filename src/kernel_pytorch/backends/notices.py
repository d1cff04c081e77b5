"""Things worth saying once: a fallback, an option that has no effect on this machine."""

from __future__ import annotations

import logging
import threading

logger = logging.getLogger("kernel_pytorch.backends")

_shown: set[str] = set()
_lock = threading.Lock()


def say_once(message: str) -> bool:
    """Log `message` as a warning, the first time it comes up in this process. True if it was said now."""
    with _lock:
        if message in _shown:
            return False
        _shown.add(message)
    logger.warning(message)
    return True
