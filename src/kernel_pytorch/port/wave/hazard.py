"""One hazard, before a rule makes a finding of it."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.core.findings import Edit, Safety, Span


@dataclass(frozen=True)
class Hazard:
    """What was seen where. Without edits it is for a person."""

    code: str
    start: int
    end: int
    message: str
    edits: tuple[Edit, ...] = ()
    safety: Safety | None = None


def replace(start: int, end: int, text: str) -> Edit:
    """An edit, from text."""
    return Edit(Span(start, end), text.encode("latin-1"))
