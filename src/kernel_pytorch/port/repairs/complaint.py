"""What a compiler objects to, at places of the project's own files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Spot:
    """A line and column of a file of the project, both counted from 1, columns in bytes."""

    path: str
    line: int
    column: int


@dataclass(frozen=True)
class ProposedEdit:
    """An edit that the compiler proposes: replace from `start` up to `end` by `text`."""

    start: Spot
    end: Spot
    text: str


@dataclass(frozen=True)
class Complaint:
    """One error. `spots` are the places of the project that it concerns, the error's own first.

    `context` is the text of the notes below it.
    """

    text: str
    spots: tuple[Spot, ...]
    context: tuple[str, ...] = ()
    proposed: tuple[ProposedEdit, ...] = ()
