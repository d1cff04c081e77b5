"""Reads a chrome trace event by event: a trace of many gigabytes never has to fit into memory.

torch writes `{"traceEvents": [...], ...}`, pretty-printed or not, gzipped or not; chrome's own form is the bare array.
Whatever else stands at the top level (device properties, versions) is handed over as a dictionary.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import LARGE, open_plain, read_bytes

Progress = Callable[[int, int], None]  # bytes of the file read so far, bytes of the file

CHUNK_BYTES = 1 << 18
# No event of a real trace comes near this; a value that does is not one, and must not fill the memory.
MAX_VALUE_CHARS = 256 << 20
_DECODER = json.JSONDecoder(strict=False)  # kernel names with raw control characters occur
_SPACE = re.compile(r"[ \t\r\n]*")
_BETWEEN = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")
# Two events side by side: a line break cannot stand inside a string, so this is structure wherever it matches.
_EVENT_BORDERS = ("},\n  {", "},\n    {", "},\n{", "},{", "}, {", "},\r\n  {")
# Older Kineto writes the bandwidth of an empty copy as a bare `inf`.
_BARE_NUMBER = re.compile(r"(?<=[:\s,\[])(-?)(inf|nan)(?=\s*[,}\]])")


def event_batches(
    path: Path, header: dict[str, Any], *, progress: Progress | None = None, allow_truncated: bool = False
) -> Iterator[list[Any]]:
    """Yields the events in lists of some hundreds and fills `header` with the other top-level values.

    Raises UsageError naming the file and the place where it is empty, cut off, not JSON, or not a trace.
    """
    with _Source(path, progress) as source:
        yield from _Scanner(path, source, header, allow_truncated).batches()


def is_gzip(path: Path) -> bool:
    """By content, whatever the name says."""
    with open_plain(path) as file:
        return file.read(2) == b"\x1f\x8b"


class _Source:
    """Decoded text in pieces, with progress counted in bytes of the file on disk."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self._path = path
        self._progress = progress
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def __enter__(self) -> _Source:
        try:
            self._size = self._path.stat().st_size
            self._raw: BinaryIO = open_plain(self._path)
        except OSError as error:
            raise UsageError(f"{self._path}: cannot be read ({error.strerror})") from error
        compressed = is_gzip(self._path)
        self._file: Any = gzip.GzipFile(fileobj=self._raw) if compressed else self._raw
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def read(self) -> str:
        """The next piece, or "" at the end. Raises _CutOff for a gzip stream that ends early."""
        try:
            data = self._file.read(CHUNK_BYTES)
        except EOFError as error:
            raise _CutOffError("the gzip stream ends early") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UsageError(f"{self._path}: damaged gzip data ({error}); record or copy the trace again") from error
        if self._progress is not None:
            self._progress(self._raw.tell(), self._size)
        return self._decode.decode(data, final=not data)


class _CutOffError(Exception):
    """The file ends before its JSON does."""


class _Scanner:
    def __init__(self, path: Path, source: _Source, header: dict[str, Any], allow_truncated: bool) -> None:
        self._path = path
        self._source = source
        self._header = header
        self._allow_truncated = allow_truncated
        self._text = ""
        self._at = 0
        self._dropped = 0  # characters before self._text
        self._ended = False
        self._events = 0

    def batches(self) -> Iterator[list[Any]]:
        try:
            yield from self._top_level()
        except _CutOffError as error:
            if self._allow_truncated and self._events:
                self._header["truncated"] = True
                return
            raise UsageError(
                f"{self._path}: cut off after {self._events} events ({error}): the profiler was stopped while writing, "
                "or the copy is incomplete. Record again, or pass --allow-truncated to analyse what is there"
            ) from error

    def _top_level(self) -> Iterator[list[Any]]:
        first = self._peek()
        if first == "":
            raise UsageError(f"{self._path}: the file is empty; no trace was written")
        if first == "[":
            self._at += 1
            yield from self._array()
            return
        if first != "{":
            start = ascii(self._text[self._at : self._at + 20])
            raise UsageError(
                f"{self._path}: not a trace: a trace is JSON, and this begins with {start}; "
                "`kpt profile --how` says how to record one"
            )
        self._at += 1
        found = False
        while self._peek() not in ("}", ""):
            key = self._value("a key")
            after = self._peek()
            if after == "":
                raise _CutOffError("it ends after a key")
            if after != ":":
                raise self._malformed("a colon is missing")
            self._at += 1
            if key == "traceEvents" and self._peek() == "[":
                self._at += 1
                found = True
                yield from self._array()
            else:
                self._header[str(key)] = self._value(f"the value of {key!r}")
            if self._peek() == ",":
                self._at += 1
        if self._peek() == "":
            raise _CutOffError("the closing brace is missing")
        if not found:
            keys = ", ".join(list(self._header)[:6]) or "none"
            raise UsageError(
                f"{self._path}: JSON, but not a trace: it has no traceEvents (its keys: {keys}). "
                "A trace comes from prof.export_chrome_trace() or from rocprofv3"
            )

    def _array(self) -> Iterator[list[Any]]:
        while True:
            first = self._peek()
            if first == "]":
                self._at += 1
                return
            if first == ",":  # the piece before ended between an event and its comma
                self._at += 1
                self._peek()
            batch = self._fast_batch() or self._slow_batch()
            if not batch:
                self._need_more()
                continue
            if not isinstance(batch[0], dict):
                raise UsageError(f"{self._path}: JSON, but not a trace: its array holds {type(batch[0]).__name__}s")
            self._events += len(batch)
            yield batch

    def _fast_batch(self) -> list[Any]:
        """Everything up to the last border between two events, in one call of the C parser."""
        if len(self._text) - self._at < CHUNK_BYTES // 2 and not self._ended:
            self._fill()
        border = max(self._text.rfind(mark, self._at) for mark in _EVENT_BORDERS)
        if border < 0:
            return []
        try:
            batch = json.loads(f"[{self._text[self._at : border + 1]}]", strict=False)
        except ValueError:
            return []  # the border was inside an event, or a value is not JSON: one by one, then
        self._at = self._text.index("{", border)
        return list(batch)

    def _slow_batch(self) -> list[Any]:
        batch: list[Any] = []
        while self._at < len(self._text) and self._text[self._at] != "]":
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError as error:
                if not self._mend(error):
                    break
                continue
            self._at = _BETWEEN.match(self._text, end).end()  # type: ignore[union-attr]
            batch.append(value)
        return batch

    def _mend(self, error: ValueError) -> bool:
        """True if the text at hand could be put right; False if more of it is needed."""
        position = getattr(error, "pos", self._at)
        near = slice(max(self._at, position - 8), position + 8)
        fixed, count = _BARE_NUMBER.subn(lambda m: m[1] + "Infinity" if m[2] == "inf" else "NaN", self._text[near])
        if count:
            self._text = self._text[: near.start] + fixed + self._text[near.stop :]
            return True
        if position < len(self._text) - 4096 and "Unterminated" not in str(error):
            raise self._malformed(str(error), position) from error
        return False

    def _value(self, what: str) -> Any:
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                # A number may go on in the next piece.
                if end < len(self._text) or self._ended or isinstance(value, (str, list, dict)):
                    self._at = end
                    return value
                self._fill()
            except ValueError as error:
                if self._mend(error):
                    continue
                if len(self._text) - self._at > MAX_VALUE_CHARS:
                    raise UsageError(
                        f"{self._path}: {what} is larger than {MAX_VALUE_CHARS >> 20} MB: not a trace"
                    ) from error
                try:
                    self._need_more()
                except _CutOffError:
                    if self._events or (isinstance(error, json.JSONDecodeError) and error.pos >= len(self._text) - 1):
                        raise
                    if "Unterminated" in str(error):
                        raise
                    raise self._malformed(str(error)) from error

    def _peek(self) -> str:
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._fill()

    def _need_more(self) -> None:
        if self._ended:
            raise _CutOffError("the JSON does not close")
        self._fill()

    def _fill(self) -> None:
        piece = self._source.read()
        self._ended = piece == ""
        self._dropped += self._at
        self._text = self._text[self._at :] + piece
        self._at = 0

    def _malformed(self, reason: str, position: int | None = None) -> UsageError:
        place = self._dropped + (self._at if position is None else position)
        return UsageError(f"{self._path}: not valid JSON at character {place}, after {self._events} events: {reason}")


def read_small_json(path: Path) -> Any:
    """A whole JSON file, gzipped or not. Raises UsageError naming the file."""
    try:
        raw = read_bytes(path, limit=LARGE)
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.GzipFile(fileobj=io.BytesIO(raw)).read()
        if not raw.strip():
            raise UsageError(f"{path}: the file is empty")
        return json.loads(raw)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error) as error:
        raise UsageError(f"{path}: damaged or cut-off gzip data ({error})") from error
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: not valid JSON ({error})") from error
