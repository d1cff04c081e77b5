"""A patch as two columns: what was there, what is there now, with unchanged stretches left out."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Patch

_CONTEXT = 3
MAX_ROWS = 4000


@dataclass(frozen=True)
class Row:
    """One line of both columns. `kind` is same, add, del, change or gap; a side that has no line is None."""

    kind: str
    old_number: int | None = None
    old: str | None = None
    new_number: int | None = None
    new: str | None = None


def side_by_side(patch: Patch) -> list[Row]:
    """The rows of a patch. A new file has only its right column."""
    old, new = _lines(patch.before or b""), _lines(patch.after)
    rows: list[Row] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        if rows:
            rows.append(Row("gap"))
        for tag, i1, i2, j1, j2 in group:
            rows += _rows(tag, old, new, range(i1, i2), range(j1, j2))
        if len(rows) > MAX_ROWS:
            left = f"... {len(rows) - MAX_ROWS} more lines or more: `kpt port` prints them"
            return [*rows[:MAX_ROWS], Row("gap", new=left)]
    return rows


def _rows(tag: str, old: list[str], new: list[str], left: range, right: range) -> Iterator[Row]:
    if tag == "equal":
        for i, j in zip(left, right, strict=True):
            yield Row("same", i + 1, old[i], j + 1, new[j])
        return
    for step in range(max(len(left), len(right))):
        gone = left[step] if step < len(left) else None
        come = right[step] if step < len(right) else None
        kind = "del" if come is None else "add" if gone is None else "change"
        yield Row(
            kind,
            None if gone is None else gone + 1,
            None if gone is None else old[gone],
            None if come is None else come + 1,
            None if come is None else new[come],
        )


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()
