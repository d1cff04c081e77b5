"""Where things that take long to make are kept between runs."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def default_cache() -> Path:
    """$KPT_CACHE_DIR, else $XDG_CACHE_HOME/kernel_pytorch, else ~/.cache/kernel_pytorch."""
    if own := os.environ.get("KPT_CACHE_DIR"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kernel_pytorch"


def unfinished(path: Path) -> Path:
    """A name beside `path` to make it under before it is renamed: other processes and threads may be making it too."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
