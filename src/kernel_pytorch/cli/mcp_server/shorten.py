"""Results that fit a client's context: long lists and texts are cut, and what was cut is said."""

from __future__ import annotations

from typing import Any

LIST_LIMIT = 100
TEXT_LIMIT = 60_000


def shorten(value: Any, limit: int = LIST_LIMIT, place: str = "") -> tuple[Any, dict[str, str]]:
    """The value with lists of at most `limit` entries, and for each that was longer, what is missing."""
    left_out: dict[str, str] = {}
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            made[key], cut = shorten(item, limit, f"{place}.{key}".lstrip("."))
            left_out.update(cut)
        return made, left_out
    if isinstance(value, list):
        shown = []
        for index, item in enumerate(value[:limit]):
            short, cut = shorten(item, limit, f"{place}[{index}]")
            shown.append(short)
            left_out.update(cut)
        if len(value) > limit:
            left_out[place or "."] = f"{len(value) - limit} of {len(value)} entries"
        return shown, left_out
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        return value[:TEXT_LIMIT], {place or ".": f"{len(value) - TEXT_LIMIT} of {len(value)} characters"}
    return value, left_out
