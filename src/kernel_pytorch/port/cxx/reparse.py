"""Whether the parser reads edited text as it read the original, around what it does not understand.

Error recovery depends on the text around an error, so an edit may change how code far from it is read. The two trees
are compared from the top, and only where they hold errors: a node without an error inside is read the same wherever it
stands, so its kind and its place are enough.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class _Edits:
    """Edits in the order of the file: what they replace, and where that is in the new text."""

    starts: list[int]
    ends: list[int]
    new_starts: list[int]
    new_ends: list[int]

    def moved(self, offset: int) -> tuple[int, int]:
        """The first and the last place in the new text that an offset may have gone to: text inserted there may
        belong to what stands before it or behind it."""
        after = bisect_right(self.starts, offset)  # edits that begin at the offset or before it
        first = last = offset + (self.new_ends[after - 1] - self.ends[after - 1] if after else 0)
        for at in range(after - 1, -1, -1):
            if self.ends[at] < offset:
                break
            first = self.new_starts[at]
            last = max(last, self.new_ends[at])
        return first, last

    def is_replaced(self, node: Node) -> bool:
        """Whether a node of the original lies in text that an edit takes away."""
        at = bisect_right(self.starts, node.start_byte) - 1
        return at >= 0 and node.end_byte <= self.ends[at]

    def is_new(self, node: Node) -> bool:
        """Whether a node of the edited text lies in text that an edit puts there, and is understood."""
        at = bisect_right(self.new_starts, node.start_byte) - 1
        return at >= 0 and node.end_byte <= self.new_ends[at] and not node.has_error


def is_read_alike(before: Node, after: Node, edits: Iterable[tuple[int, int, bytes]]) -> bool:
    """Whether two roots show the same structure, `after` being that of the text with `edits` made, in order."""
    made = list(edits)
    grown = list(accumulate((len(text) - (end - start) for start, end, text in made), initial=0))
    new_starts = [start + more for (start, _, _), more in zip(made, grown, strict=False)]
    new_ends = [start + len(text) for start, (_, _, text) in zip(new_starts, made, strict=True)]
    places = _Edits([start for start, _, _ in made], [end for _, end, _ in made], new_starts, new_ends)
    pending = [(before, after)]
    while pending:
        old, new = pending.pop()
        if not _is_same_node(old, new, places):
            return False
        if not old.has_error:
            continue
        old_parts = [one for one in old.children if not places.is_replaced(one)]
        new_parts = [one for one in new.children if not places.is_new(one)]
        if len(old_parts) != len(new_parts):
            return False
        pending.extend(zip(old_parts, new_parts, strict=True))
    return True


def _is_same_node(old: Node, new: Node, places: _Edits) -> bool:
    if old.kind_id != new.kind_id or old.has_error != new.has_error or old.is_missing != new.is_missing:
        return False
    first, last = places.moved(old.start_byte)
    if not first <= new.start_byte <= last:
        return False
    first, last = places.moved(old.end_byte)
    return first <= new.end_byte <= last
