"""A compiler's errors on the project's own files: from where the compiler read them to where a person wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kernel_pytorch.port.repairs.complaint import Complaint, ProposedEdit, Spot
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, Diagnostic, FixIt, read_diagnostics

OnOriginal = Callable[[CompilerMessage], CompilerMessage]


def complaints(stderr: str, on_original: OnOriginal) -> tuple[Complaint, ...]:
    """The errors in a compiler's output, each once. `on_original` gives paths relative to the project."""
    return tuple(dict.fromkeys(_complaint(one, on_original) for one in read_diagnostics(stderr)))


def _complaint(one: Diagnostic, on_original: OnOriginal) -> Complaint:
    spots = (spot for message in (one.error, *one.notes) if (spot := _spot(message, on_original)) is not None)
    proposed = (edit for fix in one.fixes if (edit := _proposed(fix, on_original)) is not None)
    notes = tuple(note.text for note in one.notes)
    return Complaint(one.error.text, tuple(dict.fromkeys(spots)), notes, tuple(dict.fromkeys(proposed)))


def _spot(message: CompilerMessage, on_original: OnOriginal) -> Spot | None:
    placed = on_original(message)
    if placed.path is None or Path(placed.path).is_absolute():
        return None
    return Spot(Path(placed.path).as_posix(), placed.line, placed.column)


def _proposed(fix: FixIt, on_original: OnOriginal) -> ProposedEdit | None:
    start = _spot(CompilerMessage(fix.path, fix.line, fix.column, "note", ""), on_original)
    end = _spot(CompilerMessage(fix.path, fix.end_line, fix.end_column, "note", ""), on_original)
    return ProposedEdit(start, end, fix.text) if start is not None and end is not None else None


def merged(found: Iterable[Complaint]) -> tuple[Complaint, ...]:
    """Complaints of several passes: one for each text and place."""
    kept: dict[tuple[str, Spot | None], Complaint] = {}
    for one in found:
        kept.setdefault((one.text, one.spots[0] if one.spots else None), one)
    return tuple(kept.values())
