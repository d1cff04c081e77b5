"""Source lines of machine addresses, from an executable's .debug_line (toolchain/line_table.py reads it)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.toolchain.elf import ElfFile
from kernel_pytorch.toolchain.line_table import line_sequences

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
    functions = sorted({symbol.value for symbol in elf.symbols() if symbol.section})
    addresses = [base + offset for offset in wanted]
    found: dict[int, Line] = {}
    for sequence in line_sequences(elf):
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
