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
