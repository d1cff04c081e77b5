"""A ledger in plain sentences, and its gains one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.perf.ladder.ledger import KEPT, NOT_TRIED, ROLLED_BACK, Entry, Ledger


@dataclass(frozen=True)
class Gain:
    """One kept rung: from how many milliseconds per call to how many."""

    rung: str
    title: str
    before_ms: float
    after_ms: float

    @property
    def saved_ms(self) -> float:
        return self.before_ms - self.after_ms


def gains(ledger: Ledger) -> tuple[Gain, ...]:
    """The waterfall. Ratios were measured in turns and are chained; the machine's drift between rungs is not in it."""
    found: list[Gain] = []
    for entry in ledger.entries:
        for one in entry.attempts if entry.outcome == KEPT else ():
            if one.outcome == KEPT and one.comparison is not None:
                before = found[-1].after_ms if found else one.comparison.before_ms
                found.append(Gain(entry.rung, entry.title, before, before * one.comparison.ratio))
    return tuple(found)


def speedup(ledger: Ledger) -> float | None:
    """Original over optimised; None where nothing was kept. Measured as a whole where that was done."""
    chain = gains(ledger)
    if not chain:
        return None
    if ledger.total is None:
        return chain[0].before_ms / chain[-1].after_ms
    # Variables were measured in processes of their own, before the rest: not part of the total.
    outside = 1.0
    for gain in chain:
        entry = ledger.entry(gain.rung)
        if entry is not None and entry.kind == "environment":
            outside *= gain.before_ms / gain.after_ms
    return outside / ledger.total.ratio


def explain(ledger: Ledger) -> str:
    """What was done and why, and what was not done and why not."""
    return "\n".join(_lines(ledger)) + "\n"


def _lines(ledger: Ledger) -> Iterator[str]:
    factor = speedup(ledger)
    device = ledger.identity.get("device", "")
    if factor is None:
        yield f"{ledger.target}: no rung made it faster by more than the noise ({device})."
    else:
        total = ledger.total
        whole = f": {total.in_words()}" if total is not None else ", from the ratios of the single rungs"
        yield f"{ledger.target}: {factor:.2f} times as fast ({device}){whole}."
    for title, outcome in (("Kept", KEPT), ("Rolled back", ROLLED_BACK), ("Not tried", NOT_TRIED)):
        rows = [one for one in ledger.entries if one.outcome == outcome]
        if rows:
            yield f"{title}:"
            yield from (f"  {sentence(one)}" for one in rows)
    others = [one.rung for one in ledger.entries if one.outcome not in (KEPT, ROLLED_BACK, NOT_TRIED)]
    if others:
        yield f"Do not apply here: {', '.join(others)}."
    for note in ledger.notes:
        yield f"Note: {note}."


def sentence(entry: Entry) -> str:
    """One rung in one line."""
    predicted = f" (predicted: {entry.predicted_ms:.3g} ms less)" if entry.predicted_ms is not None else ""
    found = f" ({entry.found})" if entry.found else ""
    return f"level {entry.level} {entry.rung}{found}: {entry.reason}{predicted}"
