"""The line table of an ELF file (.debug_line, DWARF 2 to 5): which source line machine addresses come from."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kernel_pytorch.toolchain.elf import ElfFile

#: Addresses in order, each with the path and the line it comes from; the last one is the end.
Sequence = list[tuple[int, str, int]]
_PATH, _FOLDER = 1, 2
# Forms of DWARF 5 that file tables use: strings in place, in .debug_str, in .debug_line_str; numbers; blocks.
_STRING, _IN_STR, _IN_LINE_STR = 0x08, 0x0E, 0x1F
_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
_UNSIGNED = 0x0F


def line_sequences(elf: ElfFile) -> Iterator[Sequence]:
    """Every sequence of every unit; none where the file has no line table."""
    section = elf.section(".debug_line")
    if section is None:
        return
    data = elf.content(section)
    strings = {
        _IN_STR: _section(elf, ".debug_str"),
        _IN_LINE_STR: _section(elf, ".debug_line_str"),
    }
    at = 0
    while at + 15 < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        end = at + 4 + length
        if length == 0xFFFFFFFF or end > len(data):
            return
        (version,) = struct.unpack_from("<H", data, at + 4)
        if 2 <= version <= 5:
            yield from _program(data, at, end, version, strings)
        at = end


def _section(elf: ElfFile, name: str) -> bytes:
    found = elf.section(name)
    return b"" if found is None else elf.content(found)


def _program(data: bytes, at: int, end: int, version: int, strings: dict[int, bytes]) -> list[Sequence]:
    """The line program of one unit, run."""
    position = at + (8 if version == 5 else 6)
    (header_length,) = struct.unpack_from("<I", data, position)
    position += 4
    code = position + header_length
    minimum = data[position]
    position += 1 + (version >= 4)
    _, base, line_range, opcode_base = struct.unpack_from("<BbBB", data, position)
    position += 4
    lengths = data[position : position + opcode_base - 1]
    position += opcode_base - 1
    files = _files5(data, position, strings) if version == 5 else _files(data, position)

    sequences: list[Sequence] = []
    rows: Sequence = []
    address, file, line = 0, 1, 1

    def row() -> None:
        rows.append((address, files[file] if file < len(files) else "", line))

    position = code
    while position < end:
        opcode = data[position]
        position += 1
        if opcode >= opcode_base:
            step = opcode - opcode_base
            address += step // line_range * minimum
            line += base + step % line_range
            row()
        elif opcode == 0:
            length, position = _unsigned(data, position)
            kind, start = data[position], position + 1
            position += length
            if kind == 1:
                row()
                sequences.append(sorted(rows, key=lambda one: one[0]))
                rows = []
                address, file, line = 0, 1, 1
            elif kind == 2:
                (address,) = struct.unpack_from("<Q", data, start)
        elif opcode == 1:
            row()
        elif opcode == 2:
            step, position = _unsigned(data, position)
            address += step * minimum
        elif opcode == 3:
            change, position = _signed(data, position)
            line += change
        elif opcode == 4:
            file, position = _unsigned(data, position)
        elif opcode == 8:
            address += (255 - opcode_base) // line_range * minimum
        elif opcode == 9:
            (step,) = struct.unpack_from("<H", data, position)
            address += step
            position += 2
        else:
            for _ in range(lengths[opcode - 1]):
                _, position = _unsigned(data, position)
    return sequences


def _files(data: bytes, position: int) -> list[str]:
    files, folders = [""], [""]
    while data[position]:
        text, position = _string(data, position)
        folders.append(text)
    position += 1
    while data[position]:
        text, position = _string(data, position)
        folder, position = _unsigned(data, position)
        _, position = _unsigned(data, position)
        _, position = _unsigned(data, position)
        files.append(_joined(folders[folder] if folder < len(folders) else "", text))
    return files


def _files5(data: bytes, position: int, strings: dict[int, bytes]) -> list[str]:
    folders, position = _entries(data, position, strings)
    names, _ = _entries(data, position, strings)
    # The first folder is the one of the compilation: paths are told from there, as the compiler was given them.
    places = ["", *(str(folder.get(_PATH, "")) for folder in folders[1:])]
    found = []
    for name in names:
        folder = name.get(_FOLDER, 0)
        inside = places[folder] if isinstance(folder, int) and folder < len(places) else ""
        found.append(_joined(inside, str(name.get(_PATH, ""))))
    return found


def _entries(data: bytes, position: int, strings: dict[int, bytes]) -> tuple[list[dict[int, int | str]], int]:
    """A table of DWARF 5: it first tells which fields its entries have."""
    count = data[position]
    position += 1
    fields = []
    for _ in range(count):
        content, position = _unsigned(data, position)
        form, position = _unsigned(data, position)
        fields.append((content, form))
    length, position = _unsigned(data, position)
    found = []
    for _ in range(length):
        entry: dict[int, int | str] = {}
        for content, form in fields:
            if form == _STRING:
                entry[content], position = _string(data, position)
            elif form in strings:
                (offset,) = struct.unpack_from("<I", data, position)
                entry[content] = _string(strings[form], offset)[0]
                position += 4
            elif form == _UNSIGNED:
                entry[content], position = _unsigned(data, position)
            elif form in _SIZES:
                entry[content] = int.from_bytes(data[position : position + _SIZES[form]], "little")
                position += _SIZES[form]
            else:
                raise ValueError(f"a line table with fields of form 0x{form:x}, which is not known")
        found.append(entry)
    return found, position


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and not name.startswith("/") else name


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode("utf-8", errors="replace"), end + 1


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = _unsigned(data, at)
    bits = 7 * (at - start)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), at
