"""What was tried, what came of it and why: written after every rung, so that a climb can go on where it stopped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json, to_json
from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.core.whole_file import write_for_user
from kernel_pytorch.models.clock.in_turns import Comparison
from kernel_pytorch.perf.ladder.recipe import with_step
from kernel_pytorch.perf.ladder.rung import Recipe, Rung
from kernel_pytorch.perf.ladder.rungs import rung_named

SCHEMA = 1
FILE = "ledger.json"

KEPT = "kept"
ROLLED_BACK = "rolled back"
DOES_NOT_APPLY = "does not apply"
NOT_TRIED = "not tried"
LEFT_OUT = "left out"
"""How the reason begins where the user did not want a rung."""


@dataclass(frozen=True)
class Attempt:
    """One set of options tried. `comparison` is against the best so far; None where it did not come to measuring."""

    options: dict[str, object]
    outcome: str
    reason: str
    comparison: Comparison | None = None
    error: float | None = None
    allowed_error: float | None = None
    referee: str = ""
    graph_breaks: int | None = None
    first_call_s: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Entry:
    """One rung: what was predicted and found, the attempts, and the outcome with its reason in plain words."""

    rung: str
    level: int
    title: str
    kind: str
    outcome: str
    reason: str
    found: str = ""
    predicted_ms: float | None = None
    predicted_why: str = ""
    attempts: tuple[Attempt, ...] = ()
    seconds: float = 0.0

    @property
    def kept(self) -> Attempt | None:
        """The last attempt that was kept: later ones had to beat it."""
        return next((one for one in reversed(self.attempts) if one.outcome == KEPT), None)

    @property
    def is_decided(self) -> bool:
        """False for what only time was missing for: a resumed climb tries it."""
        return self.outcome != NOT_TRIED


@dataclass(frozen=True)
class Expected:
    """What a rung should save of one call, and the seconds that trying it should take."""

    rung: str
    saving_ms: float
    seconds: float


@dataclass(frozen=True)
class Ledger:
    """A whole climb. `identity` is what has to be the same for its figures to hold."""

    target: str
    identity: dict[str, str]
    environment: dict[str, str]
    entries: tuple[Entry, ...] = ()
    total: Comparison | None = None
    notes: tuple[str, ...] = ()
    expected: tuple[Expected, ...] = ()
    """What the climb expected before its first rung, the best promise per second first."""
    budget_s: float = 0.0
    spent_s: float = 0.0
    when: str = ""
    kpt_ladder: int = field(default=SCHEMA)

    def __post_init__(self) -> None:
        if self.kpt_ladder != SCHEMA:
            raise ValueError(f"ledger schema {self.kpt_ladder} is not {SCHEMA}: made by another version of kpt")

    def entry(self, rung: str) -> Entry | None:
        """What is written about a rung."""
        return next((one for one in self.entries if one.rung == rung), None)

    def recipe(self, among: Iterable[Rung]) -> Recipe:
        """The kept steps, in the order they were kept, without those that a later one replaced."""
        known = tuple(among)
        built: Recipe = ()
        for entry in self.entries:
            attempt = entry.kept if entry.outcome == KEPT else None
            if attempt is not None:
                built = with_step(built, rung_named(entry.rung, known), dict(attempt.options), known)
        return built


def save(ledger: Ledger, path: Path) -> None:
    """Write it whole or not at all. Raises UsageError naming the file."""
    write_for_user(path, to_json(ledger, indent=1) + "\n")


def load(path: Path) -> Ledger:
    """A saved ledger. Raises UsageError naming the file and what is wrong with it."""
    try:
        return from_json(Ledger, read_text(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: not a ledger of kpt optimize ({error})") from error


def refuse_other(ledger: Ledger, identity: dict[str, str], path: Path) -> None:
    """Raises UsageError where the ledger is of something else than what runs now."""
    changed = [
        f"{name} was {ledger.identity.get(name, 'not there')}, is {identity.get(name, 'not there')}"
        for name in sorted(ledger.identity.keys() | identity.keys())
        if ledger.identity.get(name) != identity.get(name)
    ]
    if changed:
        raise UsageError(
            f"{path}: cannot be resumed, its figures are of something else: {'; '.join(changed)}. "
            "Leave --resume out to start again"
        )
