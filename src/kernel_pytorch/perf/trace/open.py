"""Opens whatever recording it is given, by content rather than by name."""

from __future__ import annotations

import gzip
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import open_plain
from kernel_pytorch.perf.trace.chrome import read_chrome_trace
from kernel_pytorch.perf.trace.recording import Recording
from kernel_pytorch.perf.trace.rocpd import is_sqlite, read_rocpd
from kernel_pytorch.perf.trace.rocprof_csv import read_rocprof_csv
from kernel_pytorch.perf.trace.rocprof_json import ROOT, read_rocprof_json
from kernel_pytorch.perf.trace.stream import Progress, is_gzip

_PEEK = 4096


def open_recording(path: Path, *, progress: Progress | None = None, allow_truncated: bool = False) -> Recording:
    """A torch trace, or what rocprof or rocprofv3 wrote. Raises UsageError for anything else."""
    try:
        recording = _opened(path, progress, allow_truncated)
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply for a recording") from error
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: not what a profiler writes ({type(error).__name__}: {error})") from error
    if recording.left_out:
        what = "have times that are no numbers, or end before they begin: left out"
        recording.notes.append(f"{recording.left_out} events {what}")
        if not recording.activities:
            raise UsageError(f"{path}: {recording.left_out} events {what}, and nothing else is in it")
    return recording


def _opened(path: Path, progress: Progress | None, allow_truncated: bool) -> Recording:
    if path.is_dir():
        return read_rocprof_csv(path)
    try:
        if path.stat().st_size == 0:
            raise UsageError(f"{path}: the file is empty; no trace was written")
        if is_sqlite(path):
            return read_rocpd(path)
        head = _head(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    text = head.lstrip()
    if text.startswith("{") and ROOT in text:
        return read_rocprof_json(path)
    if text.startswith(("{", "[")) or path.suffix in (".json", ".gz"):
        return read_chrome_trace(path, progress=progress, allow_truncated=allow_truncated)
    if path.suffix in (".csv", ".txt") or "," in (text.splitlines() or [""])[0]:
        return read_rocprof_csv(path)
    raise UsageError(
        f"{path}: neither a torch trace (JSON) nor a rocprof file (CSV, JSON, rocpd); it begins with {text[:30]!r}"
    )


def _head(path: Path) -> str:
    try:
        if is_gzip(path):
            with gzip.open(path) as file:
                return file.read(_PEEK).decode("utf-8", errors="replace")
    except EOFError:
        return "{"  # cut off inside the first block: the reader says so
    with open_plain(path) as plain:
        return plain.read(_PEEK).decode("utf-8", errors="replace")
