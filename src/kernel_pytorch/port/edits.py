"""Puts edits together: groups that are applied whole or not at all, in the order of trust."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kernel_pytorch.core.findings import Edit


@dataclass
class EditSet:
    """Edits of one file that do not overlap. The first to claim a span keeps it."""

    _edits: list[tuple[int, int, int, bytes]] = field(default_factory=list)

    def add(self, group: Iterable[Edit]) -> bool:
        """Takes all of a group, or none of it if one of its edits overlaps what is there. Says which."""
        items = [(edit.span.start, edit.span.end, edit.text) for edit in group]
        if any(self._overlaps(start, end) for start, end, _ in items):
            return False
        for start, end, text in items:
            # Insertions at one place keep the order in which they came.
            insort(self._edits, (start, end, len(self._edits), text))
        return True

    def _overlaps(self, start: int, end: int) -> bool:
        """Whether a span shares bytes with an edit, or one of the two is an insertion strictly inside the other.

        An insertion at either end of a span composes with what replaces the span: it stands before or behind it.
        """
        position = bisect_left(self._edits, (start,))
        if position and self._edits[position - 1][1] > start:
            return True
        for at in range(position, len(self._edits)):
            other_start, other_end = self._edits[at][:2]
            if other_start >= end:
                break
            if other_end > other_start or other_start > start:
                return True
        return False

    def __bool__(self) -> bool:
        return bool(self._edits)

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        return iter([(start, end, text) for start, end, _, text in self._edits])

    def apply(self, data: bytes) -> bytes:
        """The bytes with every edit made."""
        if not self._edits:
            return data
        parts: list[bytes] = []
        position = 0
        for start, end, _, text in self._edits:
            parts.append(data[position:start])
            parts.append(text)
            position = end
        parts.append(data[position:])
        return b"".join(parts)
