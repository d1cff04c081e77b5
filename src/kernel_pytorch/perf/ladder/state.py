"""What a climb knows while it goes on: its rules, the best so far, the time that is left, what was tried."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.models.check.reference import Reference
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.attempt import Candidate
from kernel_pytorch.perf.ladder.ledger import LEFT_OUT, Attempt, Entry, Expected, Ledger, save
from kernel_pytorch.perf.ladder.measuring import Measure
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, Options, Recipe, Rung

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

LEVELS = frozenset(range(1, 6))
# A cap, not a target. The first compile on AMD takes up to fifteen minutes by itself (KP141).
BUDGET_S = 1800.0
MEASURE_S = 4.0


@dataclass(frozen=True)
class Rules:
    """What the user allows, and how long it may take."""

    budget_s: float = BUDGET_S
    levels: frozenset[int] = LEVELS
    allow: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    measure_s: float = MEASURE_S

    def leaves_out(self, rung: Rung) -> str:
        """Why a rung is not to be tried; empty if it is."""
        if self.only and rung.name not in self.only:
            return f"{LEFT_OUT}: not among those asked for"
        if rung.name in self.skip:
            return f"{LEFT_OUT} as asked"
        if rung.level not in self.levels:
            return f"{LEFT_OUT}: level {rung.level} was not asked for"
        missing = sorted(rung.needs - self.allow)
        return f"{LEFT_OUT}: needs permission for {', '.join(missing)}" if missing else ""


@dataclass(frozen=True)
class Event:
    """Something to show while it runs: `entry` is there when a rung was decided."""

    rung: str
    number: int
    rungs: int
    doing: str
    left_s: float
    entry: Entry | None = None
    expected: tuple[Expected, ...] = ()
    """What the climb expects, before its first rung."""


TryEnvironment = Callable[[dict[str, str], EnvironmentRung, Options, float], Attempt]
"""Variables kept so far, the rung, the variables to try, seconds."""


@dataclass
class ClimbState:
    """One climb."""

    model: nn.Module
    inputs: Inputs
    known: tuple[Rung, ...]
    rules: Rules
    ledger: Ledger
    path: Path | None
    measure: Measure
    say: Callable[[Event], None]
    clock: Callable[[], float]
    try_environment: TryEnvironment | None
    profiler: Callable[[Candidate], Profile | None]
    reference: Reference = field(init=False)
    best: Candidate = field(init=False)
    ends: float = 0.0
    spent_before: float = 0.0
    profile: Profile | None = None
    profiled: Recipe | None = None
    profile_s: float = 0.0
    tried: dict[Hashable, str] = field(default_factory=dict)
    """What was built and measured, whatever the rung was called, and by which rung."""
    looked: dict[str, tuple[nn.Module, str | NotApplicable]] = field(default_factory=dict)
    """By rung: the tree it was last asked about, and what it found there."""

    def left(self) -> float:
        return self.ends - self.clock()

    @property
    def reserve(self) -> float:
        """Kept back for measuring the whole at the end."""
        return min(2 * self.rules.measure_s, 0.1 * self.rules.budget_s)

    def note(self, text: str) -> None:
        if text not in self.ledger.notes:
            self.ledger = replace(self.ledger, notes=(*self.ledger.notes, text))

    def write(self, entry: Entry | None = None) -> None:
        if entry is not None:
            others = [one for one in self.ledger.entries if one.rung != entry.rung]
            self.ledger = replace(self.ledger, entries=(*others, entry))
        spent = self.spent_before + self.rules.budget_s - self.left()
        self.ledger = replace(self.ledger, spent_s=round(spent, 1))
        if self.path is not None:
            save(self.ledger, self.path)

    def found(self, rung: Rung) -> str:
        """What the rung would change in the best so far, looked for once in every tree. Raises NotApplicable."""
        tree, answer = self.looked.get(rung.name, (None, ""))
        if tree is not self.best.model:
            try:
                answer = rung.find(self.best.model, self.inputs)
            except NotApplicable as why:
                answer = why
            self.looked[rung.name] = (self.best.model, answer)
        if isinstance(answer, NotApplicable):
            raise NotApplicable(*answer.args)
        return answer
