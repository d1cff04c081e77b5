"""Which targets have a mnemonic, from the recorded answers of an assembler (mnemonics.txt)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from kernel_pytorch.emulate.isa.row import Row
from kernel_pytorch.emulate.isa.table import find, rows

WAVE64 = ("gfx942", "gfx90a", "gfx950", "gfx908")
WAVE32 = ("gfx1100", "gfx1201", "gfx1030", "gfx1151", "gfx1250")


@functools.cache
def known() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    targets: tuple[str, ...] = ()
    for line in (Path(__file__).parent / "mnemonics.txt").read_text().splitlines():
        if line.startswith("["):
            targets = () if line == "[none]" else tuple(line.strip("[]").split())
        elif not line.startswith("#"):
            found |= dict.fromkeys(line.split(), targets)
    return found


def targets_of(name: str) -> tuple[str, ...]:
    """The targets that have the mnemonic; one no assembler knows is taken for all of them."""
    return known().get(name) or (*WAVE64, *WAVE32)


def cases(kind: str) -> Iterator[tuple[Row, str, int]]:
    """Every row of the kind on a target of each wave size that has it; rows of single targets on those."""
    for name in rows():
        seen: set[int] = set()
        for group, wave in ((WAVE64, 64), (WAVE32, 32)):
            first = True
            for target in group:
                row = find(name, target)
                if row is None or row.kind != kind or target not in targets_of(name):
                    continue
                if first or id(row) not in seen:
                    yield row, target, wave
                seen.add(id(row))
                first = False
