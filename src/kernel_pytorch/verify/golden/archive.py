"""The folder a golden record is kept in: `record.json` and `tensors.safetensors`. No pickle, nothing is executed.

A record may come from a stranger, so reading believes nothing: sizes are bounded before memory is taken, names are
plain, every tensor that the JSON mentions must be in the tensor file with that shape and type, and links are refused.
"""

from __future__ import annotations

import json
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.given_path import require_folder
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.core.read_file import open_plain, read_text
from kernel_pytorch.core.whole_file import whole_file, write_whole

SCHEMA = 2
READABLE = (1, 2)  # 1 has no backward pass
RECORD_FILE = "record.json"
TENSOR_FILE = "tensors.safetensors"
WEIGHT_FILE = "weights.safetensors"
MAX_JSON_BYTES = 64 << 20
MAX_HEADER_BYTES = 100 << 20
MISSING = f"golden records need safetensors, which is not installed: {pip_install('golden')}"
_TENSOR_NAME = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True)
class TensorRef:
    """A tensor of the record: `stride` > 1 means only every stride-th element of the flat tensor is kept."""

    id: str
    dtype: str
    shape: tuple[int, ...]
    stride: int = 1

    @property
    def whole(self) -> bool:
        return self.stride == 1


@dataclass(frozen=True)
class EventRecord:
    """What one event carried, and how much that varied between identical runs (norm-wise, per tensor).

    `rounding` is how much it varied when every number before it was off by a random part of one rounding.
    """

    module: str
    call: int
    phase: str
    tensors: tuple[TensorRef, ...]
    noise: tuple[float, ...] = ()
    rounding: tuple[float, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.module}#{self.call}.{self.phase}"


@dataclass(frozen=True)
class GoldenRecord:
    """All of one record but the tensors' contents."""

    target: str
    machine: dict[str, str]
    settings: dict[str, dict[str, str]]
    inputs: tuple[TensorRef, ...]
    weights: dict[str, str]
    events: dict[str, tuple[EventRecord, ...]]  # by mode
    depth: int | None = None
    repeats: int = 1
    dropped: tuple[str, ...] = ()
    backward: dict[str, tuple[EventRecord, ...]] = field(default_factory=dict)  # by mode: loss and gradients
    backward_note: str = ""  # why there is none
    schema: int = field(default=SCHEMA)


def write_record(folder: Path, record: GoldenRecord, tensors: dict[str, Any], weights: dict[str, Any] | None) -> None:
    """Write a record as a whole: files get their names when they are complete, `record.json` last."""
    from kernel_pytorch.core.findings import to_plain

    save_file = _safetensors().save_file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((TENSOR_FILE, tensors), (WEIGHT_FILE, weights)):
            if content is not None:
                with whole_file(folder / name) as part:
                    save_file({key: value.contiguous() for key, value in content.items()}, part)
        write_whole(folder / RECORD_FILE, json.dumps(to_plain(record), indent=1))
    except OSError as error:
        raise UsageError(f"{folder}: the record cannot be written ({error.strerror or error})") from error


class GoldenArchive:
    """A record opened for reading; tensors are read one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = _read_record(plain_file(folder, RECORD_FILE, MAX_JSON_BYTES))
        path = plain_file(folder, TENSOR_FILE, None)
        check_header(path)
        try:
            self._tensors = _safetensors().safe_open(str(path), framework="pt")
            self._names = frozenset(self._tensors.keys())
        except Exception as error:  # safetensors raises its own type, which is not importable by name everywhere
            raise UsageError(f"{path}: not a readable safetensors file ({error})") from error
        for ref in self._refs():
            self._check(ref)

    def tensor(self, ref: TensorRef) -> Any:
        """The stored elements of a tensor: its own shape when whole, flat when only a part was kept."""
        stored = self._tensors.get_tensor(ref.id)
        stored = as_dtype(stored, ref.dtype)
        return stored.reshape(ref.shape) if ref.whole else stored

    def weights(self) -> dict[str, Any]:
        """The model's weights, where they were recorded; empty otherwise."""
        if not (self.folder / WEIGHT_FILE).exists():
            return {}
        path = plain_file(self.folder, WEIGHT_FILE, None)
        check_header(path)
        opened = _safetensors().safe_open(str(path), framework="pt")
        return {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a mapping)

    def _refs(self) -> list[TensorRef]:
        modes = [*self.record.events.values(), *self.record.backward.values()]
        events = [event for mode in modes for event in mode]
        return [*self.record.inputs, *(ref for event in events for ref in event.tensors)]

    def _check(self, ref: TensorRef) -> None:
        where = self.folder / TENSOR_FILE
        if not _TENSOR_NAME.fullmatch(ref.id):
            raise UsageError(f"{self.folder / RECORD_FILE}: {ref.id!r} is not the name of a tensor in a golden record")
        if ref.id not in self._names:
            raise UsageError(f"{where}: has no tensor {ref.id}, which record.json mentions; the record is incomplete")
        kept = self._tensors.get_slice(ref.id).get_shape()
        elements = _product(ref.shape)
        expected = -(-elements // ref.stride) if ref.stride > 0 and elements >= 0 else -1
        if expected < 0 or _product(kept) != expected * _stored_per_element(ref.dtype):
            raise UsageError(f"{where}: tensor {ref.id} has {list(kept)}, record.json says {list(ref.shape)}")


def storable(tensor: Any) -> Any:
    """A tensor in a form safetensors can hold on any version: types it may not know are kept as bytes."""
    import torch

    if str(tensor.dtype).removeprefix("torch.") in _AS_BYTES:
        return tensor.contiguous().reshape(-1).view(torch.uint8)
    return tensor.contiguous()


# Kept as bytes: safetensors versions differ in which of these they know.
_AS_BYTES = ("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128")


def as_dtype(stored: Any, dtype: str) -> Any:
    """The tensor that `storable` put away."""
    import torch

    wanted = getattr(torch, dtype, None)
    if not isinstance(wanted, torch.dtype):
        raise UsageError(f"{dtype!r} is not a type this torch knows")
    return stored.reshape(-1).view(wanted) if dtype in _AS_BYTES else stored


def _stored_per_element(dtype: str) -> int:
    """How many elements of the tensor file one element takes: its bytes where it is kept as bytes."""
    if dtype not in _AS_BYTES:
        return 1
    return {"complex64": 8, "complex128": 16}.get(dtype, 1)


def _product(shape: Any) -> int:
    total = 1
    for size in shape:
        if not isinstance(size, int) or size < 0:
            return -1
        total *= size
    return total


def plain_file(folder: Path, name: str, limit: int | None) -> Path:
    """A file of a record: there, no link, and no larger than `limit`. Raises UsageError."""
    path = folder / name
    if folder.exists():
        require_folder(folder, "a golden record is one: `kpt golden record TARGET --out DIR` makes it")
    try:
        info = path.lstat()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; `kpt golden record TARGET --out {folder}` makes one") from error
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"{path}: not a plain file; a golden record holds no links")
    if limit is not None and info.st_size > limit:
        raise UsageError(f"{path}: {info.st_size} bytes, more than a record may have ({limit})")
    return path


def check_header(path: Path) -> None:
    """The header's length is checked before the library reads it: it would allocate what the file claims."""
    with open_plain(path) as file:
        head = file.read(8)
    size = int.from_bytes(head, "little")
    if len(head) < 8 or size > min(MAX_HEADER_BYTES, path.stat().st_size - 8):
        raise UsageError(f"{path}: not a safetensors file, or cut off")


def _read_record(path: Path) -> GoldenRecord:
    from kernel_pytorch.core.findings import from_json

    try:
        text = read_text(path, limit=MAX_JSON_BYTES)
        plain = json.loads(text)
        if isinstance(plain, dict) and plain.get("kind") == "kernels":
            raise UsageError(f"{path}: a record of a program's kernels: `kpt golden check --program PROGRAM DIR`")
        if not isinstance(plain, dict) or plain.get("schema") not in READABLE:
            raise UsageError(f"{path}: not a golden record of schema {' or '.join(map(str, READABLE))}")
        return from_json(GoldenRecord, text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: not a golden record ({error})") from error


def _safetensors() -> Any:
    try:
        import safetensors
        import safetensors.torch
    except ImportError as error:
        raise UsageError(MISSING) from error

    class _Both:
        save_file = staticmethod(safetensors.torch.save_file)
        safe_open = staticmethod(safetensors.safe_open)

    return _Both
