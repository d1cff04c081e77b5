"""CMake lines that take nvcc's flags out of a variable: what a flag variable holds is known only when CMake runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.port.build_files.nvcc_flags import FlagRow, flag_table


def filter_lines(variable: str, text: str) -> list[str]:
    """Lines that rewrite `variable` for hipcc: one for each of nvcc's flags that the file `text` names."""
    rows = [row for row in flag_table().values() if _is_named(row.flag, text)]
    return [line for row in rows for line in _line(variable, row)]


def _is_named(flag: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def _line(variable: str, row: FlagRow) -> Iterator[str]:
    name = re.sub(r"([.+*?()\[\]^$|])", r"\\\\\1", row.flag)
    if row.action == "unwrap":
        pattern, instead = f" {name}[ =]", " "
    elif row.action in ("drop", "replace") and row.value == "joined-or-next":
        # The architecture is CMake's business: CMAKE_HIP_ARCHITECTURES.
        pattern, instead = f" {name}[ =][^ ]+", ""
    elif row.action in ("drop", "replace"):
        pattern, instead = f" {name}( |$)", f" {row.hip}\\\\1" if row.hip else "\\\\1"
    else:
        return
    yield f'string(REGEX REPLACE "{pattern}" "{instead}" {variable} "${{{variable}}}")'
