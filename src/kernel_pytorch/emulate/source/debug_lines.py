"""Source lines of machine addresses, from an executable's .debug_line (DWARF 2 to 4, as our builds have it)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.toolchain.elf import ElfFile

_SEGMENT_LOAD = 1


@dataclass(frozen=True)
class Line:
    """Where an address comes from; `inlined_at` is the user's line before it, for library code put into a function."""

    path: str
    line: int
    inlined_at: tuple[str, int] | None = None


def lines_of(executable: Path, offsets: Iterable[int], user_files: frozenset[str]) -> dict[int, Line]:
    """Offsets from the image's start, each with its line where there is one."""
    wanted = sorted(set(offsets))
    if not wanted:
        return {}
    elf = ElfFile(executable.read_bytes())
    base = min((segment.address for segment in elf.segments if segment.kind == _SEGMENT_LOAD), default=0)
    section = elf.section(".debug_line")
    if section is None:
        return {}
    functions = sorted({symbol.value for symbol in elf.symbols() if symbol.section})
    data = elf.content(section)
    addresses = [base + offset for offset in wanted]
    found: dict[int, Line] = {}
    for unit in _units(data):
        for sequence in unit:
            for address, line in _looked_up(sequence, addresses, functions, user_files):
                found[address - base] = line
    return found


def _looked_up(
    sequence: list[tuple[int, str, int]], addresses: list[int], functions: list[int], user_files: frozenset[str]
) -> Iterator[tuple[int, Line]]:
    if len(sequence) < 2:
        return
    starts = [row[0] for row in sequence]
    for address in addresses:
        if not starts[0] <= address < starts[-1]:
            continue
        at = bisect_right(starts, address) - 1
        _, path, line = sequence[at]
        if path in user_files:
            yield address, Line(path, line)
            continue
        # Library code that was put into the user's function: the line it was put at stands before it.
        function = functions[bisect_right(functions, address) - 1] if functions else 0
        before = at
        while before > 0 and sequence[before - 1][0] >= function and sequence[before][1] not in user_files:
            before -= 1
        _, near, near_line = sequence[before]
        yield address, Line(path, line, (near, near_line) if near in user_files else None)


def _units(data: bytes) -> Iterator[list[list[tuple[int, str, int]]]]:
    at = 0
    while at + 15 < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        end = at + 4 + length
        if length == 0xFFFFFFFF or end > len(data):
            return
        (version,) = struct.unpack_from("<H", data, at + 4)
        if 2 <= version <= 4:
            yield _program(data, at, end, version)
        at = end


def _program(data: bytes, at: int, end: int, version: int) -> list[list[tuple[int, str, int]]]:
    """The line program of one unit, run: sequences of (address, path, line)."""
    (header_length,) = struct.unpack_from("<I", data, at + 6)
    position = at + 10
    code = position + header_length
    minimum = data[position]
    position += 1 + (version >= 4)
    _, base, line_range, opcode_base = struct.unpack_from("<BbBB", data, position)
    position += 4
    lengths = data[position : position + opcode_base - 1]
    position += opcode_base - 1
    files = [""]
    folders = [""]
    while data[position]:
        text, position = _string(data, position)
        folders.append(text)
    position += 1
    while data[position]:
        text, position = _string(data, position)
        folder, position = _unsigned(data, position)
        _, position = _unsigned(data, position)
        _, position = _unsigned(data, position)
        inside = folders[folder] if folder < len(folders) else ""
        files.append(f"{inside}/{text}" if inside and not text.startswith("/") else text)

    sequences: list[list[tuple[int, str, int]]] = []
    rows: list[tuple[int, str, int]] = []
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
