"""A content-addressed store of compiled kernels on disk, shared by every process that names the directory.

One entry is one file: a header (magic, key, length, checksum) and the payload. A file appears under its final
name only by rename, so a reader sees a whole entry or none; whatever a crash, a full disk or a stray editor
leaves behind fails the checksum and counts as a miss. The cache never makes a caller fail: if the directory
cannot be used it warns once and every `get` is a miss.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from errno import EPERM
from pathlib import Path

from kernel_pytorch.core.cache_folder import make_shared, not_private, own_name
from kernel_pytorch.core.whole_file import SUFFIX, write_whole

SCHEMA = 1
"""Part of the path: a package version with another layout uses another folder, side by side."""

STALE_TEMPORARY_S = 3600.0
"""No write takes an hour: an older temporary file belongs to a process that was killed."""

LOCK_WAIT_S = 600.0
"""Longer than a compiler may take (CompileOptions.timeout_s)."""

_MAGIC = b"KPTKRNL\x01"
_HEADER = struct.Struct("<8s32sQ32s")  # magic, key, payload length, sha256 of the payload
_ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.kpt\Z")
_TEMPORARY_NAME = re.compile(rf"\..+{re.escape(SUFFIX)}\Z|\.kpt-[0-9a-f]{{16}}\.lock\Z")
_warned_about: set[Path] = set()


class KernelCacheWarning(RuntimeWarning):
    """The cache directory cannot be used; work goes on without it."""


@dataclass(frozen=True)
class CacheStats:
    """What is on disk now, and what went wrong last, if anything."""

    directory: Path
    entries: int
    bytes: int
    max_entries: int
    max_bytes: int
    problem: str | None


@dataclass(frozen=True)
class _Entry:
    path: Path
    size: int
    used_ns: int


class KernelCache:
    """Stores payloads under 64-digit hex keys in `directory`, at most `max_entries` and `max_bytes` of them.

    The least recently used entries go first. Use is recorded in the file's modification time, because access
    times are off or coarse on most systems. Caches of another `kind` in the same directory are kept apart.
    """

    def __init__(
        self,
        directory: Path | str,
        max_entries: int = 1000,
        max_bytes: int = 1 << 30,
        kind: str = "kernels",
    ) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries={max_entries}: a cache holds at least one entry")
        if max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes}: a cache holds at least one byte")
        self.directory = Path(directory).expanduser()
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        # One folder per user: the API's default directory is the same /tmp/hip_cache for everybody.
        self._folder = self.directory / own_name(kind, SCHEMA)
        self._problem: str | None = None

    def get(self, key: str) -> bytes | None:
        """The payload stored under `key`, or None if there is none that is whole and ours."""
        path = self._path(key)
        try:
            # What is stored runs on the GPU with the caller's rights: another user may have planted the folder.
            if problem := not_private(self._folder.lstat()):
                raise PermissionError(EPERM, problem, str(self._folder))
            with path.open("rb") as file:
                owner = os.fstat(file.fileno()).st_uid
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report("read", error)
            return None
        payload = _payload(key, content) if owner == os.getuid() else None
        if payload is not None:
            _touch(path)
        return payload

    def put(self, key: str, payload: bytes) -> bool:
        """Store `payload` under `key`; False if it was not stored."""
        path = self._path(key)
        digest = hashlib.sha256(payload).digest()
        content = _HEADER.pack(_MAGIC, bytes.fromhex(key), len(payload), digest) + payload
        if len(content) > self.max_bytes:
            return False
        try:
            self._write(path, content)
        except FileNotFoundError:
            # Another process cleared the cache between our write and our rename.
            try:
                self._write(path, content)
            except OSError as error:
                self._report("write", error)
                return False
        except OSError as error:
            self._report("write", error)
            return False
        self._evict(keep=path)
        return True

    @contextlib.contextmanager
    def making(self, key: str) -> Iterator[None]:
        """While inside, other processes that want to make the same entry wait; then they look for it again.

        Best effort, to save eight ranks from compiling one kernel eight times: the lock dies with its holder, and
        whoever cannot lock, or has waited `LOCK_WAIT_S`, goes ahead.
        """
        path = self._path(key).with_name(f".kpt-{key[:16]}.lock")
        try:
            self._make_folder()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield  # `put` will report what is wrong with the directory
            return
        try:
            _wait_for_lock(descriptor, LOCK_WAIT_S)
            yield
        finally:
            # Before the lock goes, so that nobody is left waiting on a file that has no more use.
            _remove(path)
            os.close(descriptor)

    def clear(self) -> int:
        """Remove our own files, and nothing else; how many entries went."""
        removed = 0
        for entry in self._entries():
            if _is_ours(entry.path) and _remove(entry.path):
                removed += 1
        for temporary in self._temporaries():
            _remove(temporary.path)
        with contextlib.suppress(OSError):  # not there, or someone else keeps files in it
            self._folder.rmdir()
        return removed

    def stats(self) -> CacheStats:
        """Entries and bytes on disk, the bounds, and the last problem met."""
        entries = list(self._entries())
        return CacheStats(
            self.directory,
            len(entries),
            sum(entry.size for entry in entries),
            self.max_entries,
            self.max_bytes,
            self._problem,
        )

    def _path(self, key: str) -> Path:
        name = f"{key}.kpt"
        if not _ENTRY_NAME.match(name):
            raise ValueError(f"cache key {key!r} is not 64 lower-case hex digits")
        return self._folder / name

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            make_shared(self.directory)
            self._folder.mkdir(mode=0o700, exist_ok=True)
        if problem := not_private(self._folder.lstat()):
            raise PermissionError(EPERM, problem, str(self._folder))

    def _write(self, path: Path, content: bytes) -> None:
        self._make_folder()
        # Not durable: after a power cut the checksum turns a torn file into a miss, and waiting for the disk would
        # cost every compile.
        write_whole(path, content)
        _touch(path)

    def _evict(self, keep: Path) -> None:
        oldest_temporary_ns = time.time_ns() - int(STALE_TEMPORARY_S * 1e9)
        for temporary in self._temporaries():
            if temporary.used_ns < oldest_temporary_ns:
                _remove(temporary.path)
        entries = sorted(self._entries(), key=lambda entry: entry.used_ns)
        count = len(entries)
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if count <= self.max_entries and total <= self.max_bytes:
                return
            if entry.path == keep or not _unused_since(entry) or not _is_ours(entry.path):
                continue
            _remove(entry.path)
            # Also when the file was gone already: another process evicted it, and the room is free.
            count -= 1
            total -= entry.size

    def _entries(self) -> Iterator[_Entry]:
        return self._files(_ENTRY_NAME)

    def _temporaries(self) -> Iterator[_Entry]:
        return self._files(_TEMPORARY_NAME)

    def _files(self, name: re.Pattern[str]) -> Iterator[_Entry]:
        try:
            listing = list(os.scandir(self._folder))
        except OSError:
            return
        for found in listing:
            if not name.match(found.name):
                continue
            try:
                status = found.stat(follow_symlinks=False)
            except OSError:
                continue  # evicted by another process since the listing
            yield _Entry(Path(found.path), status.st_size, status.st_mtime_ns)

    def _report(self, action: str, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        message = (
            f"kernel cache in {self.directory} cannot be used ({action}: {reason}); going on without it. "
            "Another directory: hip_compiler_cache_dir"
        )
        self._problem = message
        if self.directory not in _warned_about:
            _warned_about.add(self.directory)
            warnings.warn(message, KernelCacheWarning, stacklevel=3)


def _wait_for_lock(descriptor: int, seconds: float) -> None:
    import fcntl

    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.02)
        except OSError:
            return  # a file system without locks


def _payload(key: str, content: bytes) -> bytes | None:
    if len(content) < _HEADER.size:
        return None
    magic, stored_key, length, digest = _HEADER.unpack_from(content)
    payload = content[_HEADER.size :]
    whole = magic == _MAGIC and stored_key == bytes.fromhex(key) and length == len(payload)
    return payload if whole and hashlib.sha256(payload).digest() == digest else None


def _touch(path: Path) -> None:
    now = time.time_ns()  # the kernel's own "now" is a timer tick: entries used within it would tie
    with contextlib.suppress(OSError):  # a read-only cache still serves hits; only its order suffers
        os.utime(path, ns=(now, now))


def _unused_since(entry: _Entry) -> bool:
    try:
        return entry.path.stat().st_mtime_ns == entry.used_ns
    except OSError:
        return True


def _is_ours(path: Path) -> bool:
    """True for our magic, and for a file cut short inside it (a torn write leaves such stumps)."""
    try:
        with path.open("rb") as file:
            return _MAGIC.startswith(file.read(len(_MAGIC)))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
