"""Where first-run compilation leaves its results, how much is there, and how long the first run takes.

Times are those of a public AMD optimisation guide (KP141 names it). They say when to worry, not how fast a machine is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.probe import Probe

MAX_FILES_COUNTED = 20_000  # sizes are for orientation: a huge cache must not make doctor slow


@dataclass(frozen=True)
class Cache:
    """One compile cache. `complete` is False where there were too many files to count."""

    name: str
    variable: str
    path: str
    first_run: str
    size_bytes: int
    files: int
    complete: bool

    @property
    def warm(self) -> bool:
        return self.files > 0


def find_caches(probe: Probe, aiter_folder: Path | None = None) -> tuple[Cache, ...]:
    """The caches of torch.compile, Triton, aiter, TunableOp and the HIP compiler."""
    env, home = probe.env, probe.home
    tunable = env.get("PYTORCH_TUNABLEOP_FILENAME", "tunableop_results0.csv")
    temporary = env.get("TMPDIR", "/tmp")
    aiter = env.get("AITER_JIT_DIR") or (str(aiter_folder / "jit" / "build") if aiter_folder else f"{home}/.aiter/jit")
    comgr = env.get("AMD_COMGR_CACHE_DIR") or f"{env.get('XDG_CACHE_HOME', home + '/.cache')}/comgr"
    rows = (
        (
            "torch.compile",
            "TORCHINDUCTOR_CACHE_DIR",
            env.get("TORCHINDUCTOR_CACHE_DIR") or f"{temporary}/torchinductor_{probe.user}",
            "2-5 min (max-autotune 5-15 min)",
        ),
        ("Triton", "TRITON_CACHE_DIR", env.get("TRITON_CACHE_DIR") or f"{home}/.triton/cache", "1-2 min"),
        ("aiter", "AITER_JIT_DIR", aiter, "1-3 min"),
        ("TunableOp", "PYTORCH_TUNABLEOP_FILENAME", tunable, "1-5 min"),
        ("HIP compiler (comgr)", "AMD_COMGR_CACHE_DIR", comgr, "seconds per kernel"),
    )
    return tuple(Cache(name, variable, path, first, *_measure(path)) for name, variable, path, first in rows)


def _measure(path: str) -> tuple[int, int, bool]:
    size = files = 0
    if Path(path).is_file():
        return Path(path).stat().st_size, 1, True
    for folder, _, names in os.walk(path):
        for name in names:
            if files >= MAX_FILES_COUNTED:
                return size, files, False
            try:
                size += (Path(folder) / name).lstat().st_size
            except OSError:
                continue
            files += 1
    return size, files, True
