"""A reader for 64-bit little-endian ELF files: headers, sections, notes, symbols.

Just what AMDGPU code objects and the host files that carry them need. Input is not trusted: every offset is
checked, so that damage ends in ElfError and in nothing else.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass

MACHINE_AMDGPU = 224
TYPE_RELOCATABLE = 1
_SECTION_NOTE = 7
_SECTION_NO_BITS = 8
_SECTION_SYMBOLS = 2
_SECTION_DYNAMIC_SYMBOLS = 11
_SEGMENT_LOAD = 1
_SEGMENT_NOTE = 4
_SYMBOL_SIZE = 24
_TYPE_OBJECT = 1
_TYPE_FUNCTION = 2
_BINDING_GLOBAL = 1


class ElfError(ValueError):
    """The bytes are not a whole 64-bit little-endian ELF file."""


@dataclass(frozen=True)
class Section:
    """One section header."""

    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Segment:
    """One program header."""

    kind: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class Note:
    """One entry of a note section or segment."""

    owner: str
    kind: int
    content: bytes


@dataclass(frozen=True)
class Symbol:
    """One symbol table entry."""

    name: str
    value: int
    size: int
    section: int
    info: int = 0

    @property
    def is_function(self) -> bool:
        """Code."""
        return self.info & 15 == _TYPE_FUNCTION

    @property
    def is_object(self) -> bool:
        """Data."""
        return self.info & 15 == _TYPE_OBJECT

    @property
    def is_strong(self) -> bool:
        """Defined in this file and in no other: not a template that each user of it defines as well."""
        return self.info >> 4 == _BINDING_GLOBAL


def is_elf(data: bytes | mmap.mmap) -> bool:
    """Whether the bytes start like an ELF file."""
    return data[:4] == b"\x7fELF"


class ElfFile:
    """A parsed ELF file; the bytes stay in memory."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        if not is_elf(data):
            raise ElfError("does not start with the ELF magic")
        self.data = data
        if len(data) < 64:
            raise ElfError(f"an ELF header has 64 bytes, here are {len(data)}")
        if data[4] != 2 or data[5] != 1:
            raise ElfError("not a 64-bit little-endian ELF file")
        self.os_abi = data[7]
        self.abi_version = data[8]
        header = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
        self.type, self.machine = header[0], header[1]
        self.flags = header[6]
        segment_offset, section_offset = header[4], header[5]
        segment_size, segment_count, section_size, section_count, names_index = header[8:13]
        self.segments = self._segments(segment_offset, segment_size, segment_count)
        self.sections = self._sections(section_offset, section_size, section_count, names_index)
        self._tables: dict[int, tuple[Symbol, ...]] = {}

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the file; raises when they are not all there."""
        if offset < 0 or size < 0 or offset + size > len(self.data):
            raise ElfError(f"{size} bytes at {offset} lie outside the file of {len(self.data)} bytes")
        return self.data[offset : offset + size]

    def _segments(self, offset: int, size: int, count: int) -> tuple[Segment, ...]:
        if count and size < 56:
            raise ElfError(f"program headers of {size} bytes are too small")
        found = []
        for index in range(count):
            kind, _, at, address, _, in_file, _, _ = struct.unpack("<IIQQQQQQ", self.read(offset + index * size, 56))
            found.append(Segment(kind, at, address, in_file))
        return tuple(found)

    def _sections(self, offset: int, size: int, count: int, names_index: int) -> tuple[Section, ...]:
        if count and size < 64:
            raise ElfError(f"section headers of {size} bytes are too small")
        raw = [struct.unpack("<IIQQQQIIQQ", self.read(offset + index * size, 64)) for index in range(count)]
        names = b""
        if 0 < names_index < len(raw):
            names = self.read(raw[names_index][4], raw[names_index][5])
        return tuple(Section(_text_at(names, row[0]), row[1], row[3], row[4], row[5], row[6]) for row in raw)

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: Section) -> bytes:
        """The bytes of a section; empty for one without content in the file."""
        return b"" if section.kind == _SECTION_NO_BITS else self.read(section.offset, section.size)

    def notes(self) -> Iterator[Note]:
        """Every note: from the segments, or from the sections where there are no segments."""
        places = [(s.offset, s.size) for s in self.segments if s.kind == _SEGMENT_NOTE]
        if not places:
            places = [(s.offset, s.size) for s in self.sections if s.kind == _SECTION_NOTE]
        for offset, size in places:
            yield from _notes_in(self.read(offset, size))

    def symbols(self) -> Iterator[Symbol]:
        """Every named symbol of the symbol tables."""
        return self._symbols((_SECTION_SYMBOLS, _SECTION_DYNAMIC_SYMBOLS))

    def dynamic_symbols(self) -> Iterator[Symbol]:
        """What a shared library defines for others and wants from them (those have section 0)."""
        return self._symbols((_SECTION_DYNAMIC_SYMBOLS,))

    def _symbols(self, kinds: tuple[int, ...]) -> Iterator[Symbol]:
        for index, table in enumerate(self.sections):
            if table.kind not in kinds:
                continue
            if index not in self._tables:  # a library has thousands of symbols and many who ask for them
                self._tables[index] = tuple(self._table(table))
            yield from self._tables[index]

    def _table(self, table: Section) -> Iterator[Symbol]:
        if table.link >= len(self.sections):
            raise ElfError(f"symbol table {table.name!r} names string section {table.link}, which is not there")
        names = self.content(self.sections[table.link])
        rows = self.content(table)
        whole = memoryview(rows)[: len(rows) - len(rows) % _SYMBOL_SIZE]
        for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", whole):
            if text := _text_at(names, name):
                yield Symbol(text, value, size, section, info)

    def bytes_of(self, symbol: Symbol, size: int) -> bytes:
        """The first `size` bytes a symbol stands for."""
        if self.type == TYPE_RELOCATABLE:
            if not 0 < symbol.section < len(self.sections):
                raise ElfError(f"symbol {symbol.name!r} is in no section")
            return self.read(self.sections[symbol.section].offset + symbol.value, size)
        for segment in self.segments:
            inside = symbol.value - segment.address
            if segment.kind == _SEGMENT_LOAD and inside >= 0 and inside + size <= segment.size:
                return self.read(segment.offset + inside, size)
        raise ElfError(f"symbol {symbol.name!r} at 0x{symbol.value:x} lies in no loaded segment")


def _text_at(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset)
    if offset >= len(names) or end < 0:
        return ""
    return names[offset:end].decode("utf-8", errors="replace")


def _notes_in(data: bytes) -> Iterator[Note]:
    at = 0
    while at + 12 <= len(data):
        owner_size, content_size, kind = struct.unpack_from("<III", data, at)
        content_at = at + 12 + _aligned(owner_size)
        if content_at + content_size > len(data):
            raise ElfError(f"a note of {content_size} bytes runs past its section")
        owner = data[at + 12 : at + 12 + owner_size].rstrip(b"\0").decode("ascii", errors="replace")
        yield Note(owner, kind, data[content_at : content_at + content_size])
        at = content_at + _aligned(content_size)


def _aligned(size: int) -> int:
    return (size + 3) & ~3
