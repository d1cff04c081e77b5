"""torch's lock around the build of a C++ extension, for programs on an emulated GPU.

torch creates a file and removes it after the build. A build that was killed leaves the file, and whoever comes next
waits for ever without a word. Here the builder also holds a lock of the operating system on the file, which ends with
its process: a file of ours that nobody holds is left over, and is removed. A file of another origin is waited for, and
after a while a line says so.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

_OURS = b"held by a program under kpt emulate\n"
_SILENT_S = 20.0


def adjust(module: Any) -> None:
    """Gives torch.utils.file_baton's class these three methods."""
    try:
        import fcntl
    except ImportError:
        return  # no such locks on this system: torch's own files serve
    lock = fcntl.flock
    exclusive, at_once = fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB
    kind = module.FileBaton
    create = kind.try_acquire

    def try_acquire(self: Any) -> bool:
        if create(self):
            lock(self.fd, exclusive)
            # After the lock: whoever reads this may rely on it.
            Path(self.lock_file_path).write_bytes(_OURS)
            return True
        return _removed(Path(self.lock_file_path)) and try_acquire(self)

    def wait(self: Any) -> None:
        said, started = False, time.monotonic()
        path = Path(self.lock_file_path)
        while path.exists():
            if _removed(path):
                raise RuntimeError(
                    f"the process that built the extension in {path.parent} ended before it was done: run this again"
                )
            if not said and time.monotonic() - started > _SILENT_S:
                said = True
                print(
                    f"kpt: waiting for {path}: another process builds this extension. If none does, a "
                    "build was killed there: delete the file",
                    file=sys.stderr,
                    flush=True,
                )
            time.sleep(self.wait_seconds)

    def _removed(path: Path) -> bool:
        """Removes a file that a program of ours left when it was killed."""
        try:
            held = os.open(path, os.O_RDONLY)
        except OSError:
            return False  # it went just now
        try:
            if os.read(held, len(_OURS)) != _OURS:
                return False
            lock(held, at_once)
            # Two may come at once: the second holds a file that is no longer the one of that name.
            if path.stat().st_ino != os.fstat(held).st_ino:
                return False
            path.unlink()
        except OSError:
            return False  # somebody holds it, or it went
        finally:
            os.close(held)
        print(f"kpt: removed {path}, left by a build that was killed", file=sys.stderr, flush=True)
        return True

    kind.try_acquire, kind.wait = try_acquire, wait
