"""The whole table: every row of every file in this package, found by mnemonic and target."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from pathlib import Path

from kernel_pytorch.emulate.isa.row import Row, TableError

_NOT_TABLES = frozenset({"row", "table"})


@functools.cache
def rows() -> dict[str, tuple[Row, ...]]:
    """Every row by name. Two rows of one name must differ in the families they are for."""
    found: dict[str, tuple[Row, ...]] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)])):
        if module in _NOT_TABLES:
            continue
        for row in importlib.import_module(f"kernel_pytorch.emulate.isa.{module}").ROWS:
            earlier = found.get(row.name, ())
            if any(one.families == row.families for one in earlier):
                raise TableError(f"{row.name} has two rows for {', '.join(row.families) or 'every family'}")
            # Rows for some families come before the one for all the rest.
            found[row.name] = tuple(sorted((*earlier, row), key=lambda one: not one.families))
    return found


def family(target: str) -> str:
    """`gfx9` for gfx90a, gfx942 and gfx950; `gfx10`, `gfx11`, `gfx12`."""
    match = re.match(r"gfx(1[0-2]|9)", target)
    if match is None:
        raise TableError(f"{target} is not a target the instruction table knows: expected gfx9 to gfx12")
    return f"gfx{match[1]}"


def find(mnemonic: str, target: str) -> Row | None:
    """The row of a mnemonic on a target, or None."""
    for row in rows().get(mnemonic, ()):
        if not row.families or target in row.families or family(target) in row.families:
            return row
    return None
