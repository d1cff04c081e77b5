"""A small MessagePack decoder: the AMDGPU metadata note is one MessagePack document.

Written here so that reading a code object needs nothing beyond Python. Input is not trusted: every length is
checked against the bytes that are left, and nesting is limited.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | bytes | list[Value] | dict[Value, Value] | None"

_MAX_DEPTH = 64
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_STRINGS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_BINARIES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_ARRAYS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}
_EXTENSIONS = {0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


class MessagePackError(ValueError):
    """The bytes are not one MessagePack document."""


def decode(data: bytes) -> Value:
    """The value of a MessagePack document; trailing zero bytes (note padding) are allowed."""
    reader = _Reader(data)
    value = reader.value(0)
    if any(data[reader.position :]):
        raise MessagePackError(f"{len(data) - reader.position} bytes are left after the document")
    return value


def value_at(data: bytes, position: int) -> Value:
    """The value that begins at a position, whatever stands around it."""
    return _Reader(data, position).value(0)


class _Reader:
    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self.data):
            raise MessagePackError(f"ends at byte {len(self.data)}, {end - len(self.data)} bytes too early")
        piece = self.data[self.position : end]
        self.position = end
        return piece

    def number(self, form: str) -> int:
        value = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        assert isinstance(value, int)
        return value

    def text(self, count: int) -> str:
        try:
            return self.take(count).decode("utf-8")
        except UnicodeDecodeError as error:
            raise MessagePackError(f"text before byte {self.position} is not UTF-8") from error

    def array(self, count: int, depth: int) -> Value:
        self.check_count(count)
        return [self.value(depth + 1) for _ in range(count)]

    def map(self, count: int, depth: int) -> Value:
        self.check_count(2 * count)
        found: dict[Value, Value] = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if isinstance(key, (list, dict)):
                raise MessagePackError(f"a container is used as a key before byte {self.position}")
            found[key] = self.value(depth + 1)
        return found

    def check_count(self, count: int) -> None:
        # Each item takes at least one byte: a larger count is damage, and must not make us allocate for it.
        if count > len(self.data) - self.position:
            raise MessagePackError(f"a container of {count} items cannot fit after byte {self.position}")

    def value(self, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            raise MessagePackError(f"nested deeper than {_MAX_DEPTH} levels")
        kind = self.take(1)[0]
        if kind <= 0x7F:
            return kind
        if kind >= 0xE0:
            return kind - 0x100
        if kind <= 0x8F:
            return self.map(kind & 0x0F, depth)
        if kind <= 0x9F:
            return self.array(kind & 0x0F, depth)
        if kind <= 0xBF:
            return self.text(kind & 0x1F)
        return self.tagged(kind, depth)

    def tagged(self, kind: int, depth: int) -> Value:
        if kind == 0xC0:
            return None
        if kind in (0xC2, 0xC3):
            return kind == 0xC3
        if kind in (0xCA, 0xCB):
            form = _NUMBERS[kind]
            return float(struct.unpack(form, self.take(struct.calcsize(form)))[0])
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind in _STRINGS:
            return self.text(self.number(_STRINGS[kind]))
        if kind in _BINARIES:
            return self.take(self.number(_BINARIES[kind]))
        if kind in _ARRAYS:
            return self.array(self.number(_ARRAYS[kind]), depth)
        if kind in _MAPS:
            return self.map(self.number(_MAPS[kind]), depth)
        if kind in _FIXED_EXTENSIONS:
            return self.take(1 + _FIXED_EXTENSIONS[kind])
        if kind in _EXTENSIONS:
            return self.take(1 + self.number(_EXTENSIONS[kind]))
        raise MessagePackError(f"byte 0x{kind:02x} before {self.position} starts no value")
