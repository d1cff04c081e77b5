"""What a kernel record holds, and the folder it is kept in: `record.json` and `tensors.safetensors`, bytes only.

Like every golden record it may come from a stranger: nothing in it is executed, and what does not fit is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json, to_plain
from kernel_pytorch.core.read_file import open_plain, read_text
from kernel_pytorch.core.whole_file import whole_file, write_whole
from kernel_pytorch.verify.golden.archive import MAX_JSON_BYTES, RECORD_FILE, TENSOR_FILE, check_header, plain_file

KIND = "kernels"
SCHEMA = 1
_CONTENT = re.compile(r"[0-9a-f]{32}")
_MOST_LAUNCHES = 1_000_000


@dataclass(frozen=True)
class PointerArgument:
    """An argument (or a word of one that is a structure) that points `at` bytes into a buffer."""

    argument: int
    offset: int
    buffer: str
    at: int


@dataclass(frozen=True)
class BufferState:
    """A buffer around one launch: hashes of all of it, and whether the first `kept` bytes are in the record."""

    buffer: str
    bytes: int
    kept: int
    base: int
    before: str
    after: str
    has_before: bool
    has_after: bool
    noise: float = 0.0  # between identical runs, norm-wise

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class LaunchRecord:
    """One launch. `finished` is false when the program died in it; `captured` ones ran later, inside a graph."""

    number: int
    symbol: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    captured: bool
    arguments: tuple[PointerArgument, ...]
    buffers: tuple[BufferState, ...] = ()
    error: int = 0
    finished: bool = False


@dataclass(frozen=True)
class KernelRecord:
    """One run of a program, but for the buffers' contents. `launches_in_all` also counts those beyond the limit."""

    program: str
    arguments: tuple[str, ...]
    machine: dict[str, str]
    launches: tuple[LaunchRecord, ...]
    launches_in_all: int
    exit_code: int | None
    repeats: int = 1
    note: str = ""
    kind: str = KIND
    schema: int = SCHEMA


def write_kernel_record(folder: Path, record: KernelRecord, contents: Mapping[str, Path]) -> None:
    """Write a record as a whole: files get their names when they are complete, `record.json` last."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / TENSOR_FILE) as part:
            _write_tensors(part, contents)
        write_whole(folder / RECORD_FILE, json.dumps(to_plain(record), indent=1))
    except OSError as error:
        raise UsageError(f"{folder}: the record cannot be written ({error.strerror or error})") from error


def _write_tensors(path: Path, contents: Mapping[str, Path]) -> None:
    header: dict[str, object] = {}
    end = 0
    for name, file in contents.items():
        size = file.stat().st_size
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for file in contents.values():
            out.write(file.read_bytes())


def is_kernel_record(folder: Path) -> bool:
    """Whether a folder holds a record of kernels rather than of a model. Raises UsageError where it holds none."""
    plain = _plain(plain_file(folder, RECORD_FILE, MAX_JSON_BYTES))
    return plain.get("kind") == KIND


class KernelArchive:
    """A kernel record opened for reading; contents are read one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = plain_file(folder, RECORD_FILE, MAX_JSON_BYTES)
        if _plain(path).get("kind") != KIND:
            raise UsageError(f"{path}: a record of a model, not of kernels: `kpt golden check TARGET {folder}`")
        try:
            self.record = from_json(KernelRecord, read_text(path, limit=MAX_JSON_BYTES))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UsageError(f"{path}: not a kernel record ({error})") from error
        self._file = plain_file(folder, TENSOR_FILE, None)
        check_header(self._file)
        self._places, self._start = _places(self._file)
        self._check(path)

    def content(self, name: str) -> bytes:
        """The kept bytes of one content."""
        start, end = self._places[name]
        with open_plain(self._file) as file:
            file.seek(self._start + start)
            return file.read(end - start)

    def _check(self, path: Path) -> None:
        record = self.record
        if record.schema != SCHEMA:
            raise UsageError(f"{path}: not a kernel record of schema {SCHEMA}")
        if len(record.launches) > _MOST_LAUNCHES:
            raise UsageError(f"{path}: {len(record.launches)} launches, more than a record may have")
        for launch in record.launches:
            where = f"{path}: launch {launch.number}"
            if len(launch.grid) != 3 or len(launch.block) != 3:
                raise UsageError(f"{where}: grid and block have three sizes each")
            for state in launch.buffers:
                self._check_state(where, state)

    def _check_state(self, where: str, state: BufferState) -> None:
        if state.bytes < 0 or not 0 <= state.kept <= state.bytes:
            raise UsageError(f"{where}: buffer {state.buffer!r} has {state.kept} of {state.bytes} bytes")
        for name, there in ((state.before, state.has_before), (state.after, state.has_after)):
            if not _CONTENT.fullmatch(name):
                raise UsageError(f"{where}: {name!r} is no name of a content")
            if there and name not in self._places:
                raise UsageError(f"{self._file}: has no content {name}, which record.json mentions")
            if there and self._places[name][1] - self._places[name][0] != state.kept:
                raise UsageError(f"{self._file}: content {name} does not have the {state.kept} bytes of record.json")


def _plain(path: Path) -> dict[str, object]:
    try:
        plain = json.loads(read_text(path, limit=MAX_JSON_BYTES))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a golden record ({error})") from error
    if not isinstance(plain, dict):
        raise UsageError(f"{path}: not a golden record")
    return plain


def _places(path: Path) -> tuple[dict[str, tuple[int, int]], int]:
    """Where each content lies, from the header of the tensor file; everything in it is checked against its size."""
    with open_plain(path) as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length)
    room = path.stat().st_size - 8 - length
    try:
        header = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError("the header is not an object")
        places = {}
        for name, row in header.items():
            if name == "__metadata__":
                continue
            start, end = row["data_offsets"]
            if row["dtype"] != "U8" or not isinstance(start, int) or not isinstance(end, int):
                raise ValueError(f"{name!r}: contents are bytes")
            if not 0 <= start <= end <= room or row["shape"] != [end - start]:
                raise ValueError(f"{name!r} lies outside the file")
            places[name] = (start, end)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: not a readable safetensors file of contents ({error})") from error
    return places, 8 + length
