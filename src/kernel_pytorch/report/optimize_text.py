"""A climb as text for a terminal: every rung, the waterfall of gains, notes."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.counted import counted
from kernel_pytorch.perf.ladder.explain import gains, speedup
from kernel_pytorch.perf.ladder.ledger import DOES_NOT_APPLY, LEFT_OUT, Entry, Expected, Ledger

BAR = 40
MARKS = {"kept": "+", "rolled back": "-", "does not apply": " ", "not tried": "?"}


def optimize_text(ledger: Ledger) -> str:
    """The whole ledger."""
    return "\n".join(_lines(ledger)) + "\n"


def event_line(entry: Entry) -> str:
    """One decided rung."""
    return f"{MARKS.get(entry.outcome, ' ')} {entry.level} {entry.rung}: {entry.outcome}: {entry.reason}"


def expected_line(expected: tuple[Expected, ...]) -> str:
    """What the climb expects before it starts."""
    rows = ", ".join(f"{one.rung} {-one.saving_ms:+.3g} ms in {one.seconds:.0f} s" for one in expected)
    return f"expects, best gain per second first: {rows}"


def _lines(ledger: Ledger) -> Iterator[str]:
    yield f"{ledger.target} on {ledger.identity.get('device', '?')}, torch {ledger.identity.get('torch', '?')}"
    yield headline(ledger)
    if ledger.expected:
        yield expected_line(ledger.expected)
    yield ""
    left_out = [one for one in ordered(ledger) if one.reason.startswith(LEFT_OUT)]
    tried = [one for one in ordered(ledger) if one.outcome != DOES_NOT_APPLY and one not in left_out]
    width = max((len(one.rung) for one in tried), default=4)
    if tried:
        yield f"    {'rung':<{width}}  {'predicted':>10}  {'measured':>22}  what came of it"
    for one in tried:
        mark = MARKS.get(one.outcome, " ")
        ratio = measured(one)
        yield f"{mark} {one.level} {one.rung:<{width}}  {predicted(one):>10}  {ratio:>22}  {one.outcome}: {one.reason}"
    others = [one for one in ordered(ledger) if one.outcome == DOES_NOT_APPLY]
    if others:
        yield ""
        yield "does not apply here"
        yield from (f"    {one.rung}: {one.reason}" for one in others)
    if left_out:
        yield ""
        yield f"left out: {', '.join(_left_out(one) for one in left_out)}"
    yield from _waterfall(ledger)
    if ledger.notes:
        yield ""
        yield from (f"note: {note}" for note in ledger.notes)


def _left_out(entry: Entry) -> str:
    """Levels and names that were not asked for speak for themselves; a permission is worth a word."""
    missing = entry.reason.partition("needs permission for ")[2]
    return f"{entry.rung} (--allow {missing})" if missing else entry.rung


def headline(ledger: Ledger) -> str:
    """The result in one line."""
    factor = speedup(ledger)
    spent = f"{ledger.spent_s:.0f} s of {ledger.budget_s:.0f} s"
    if factor is None:
        late = sum(not one.is_decided and not one.reason.startswith(LEFT_OUT) for one in ledger.entries)
        more = f"; {counted(late, 'rung')} had no time: raise --budget and add --resume" if late else ""
        return f"nothing is faster by more than the noise ({spent}){more}"
    whole = f"{ledger.total.in_words()}, " if ledger.total is not None else "not measured as a whole, "
    return f"{factor:.2f} times as fast: {whole}{spent}"


def ordered(ledger: Ledger) -> list[Entry]:
    """By level, and within one in the order they were decided."""
    return sorted(ledger.entries, key=lambda one: one.level)


def predicted(entry: Entry) -> str:
    """What the profile promised."""
    return f"{-entry.predicted_ms:+.3g} ms" if entry.predicted_ms is not None else "-"


def measured(entry: Entry) -> str:
    """The ratio of the attempt that counts, with its interval; below 1 is faster."""
    attempts = [one for one in entry.attempts if one.comparison is not None]
    chosen = entry.kept or (min(attempts, key=lambda one: one.comparison.ratio) if attempts else None)  # type: ignore[union-attr]
    if chosen is None or chosen.comparison is None:
        return "-"
    one = chosen.comparison
    interval = f" [{one.low:.3f}, {one.high:.3f}]" if one.low is not None and one.high is not None else ""
    return f"x{one.ratio:.3f}{interval}"


def _waterfall(ledger: Ledger) -> Iterator[str]:
    chain = gains(ledger)
    if not chain:
        return
    yield ""
    yield "gains, one after the other (the ratios multiplied; the whole was measured separately)"
    top = chain[0].before_ms
    width = max(len(one.rung) for one in chain)
    width = max(width, len("original"))
    yield f"    {'original':<{width}}  {top:10.4g} ms  {'#' * BAR}"
    for one in chain:
        left = round(BAR * one.after_ms / top)
        gone = max(0, round(BAR * one.before_ms / top) - left)
        yield f"    {one.rung:<{width}}  {one.after_ms:10.4g} ms  {'#' * left}{'.' * gone}"
