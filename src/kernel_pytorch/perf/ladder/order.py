"""Which rung next: the one that promises the most milliseconds for each second that trying it takes.

The promise is the rung's own prediction by the profile of the best so far, but no less than what such a rung usually
saves: a profile does not show everything. The seconds are those of a compile as this climb has seen it, times what the
rung says it needs, and the measuring. Without a profile nothing is promised, and rungs go up as the ladder has them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.advice.rules import LAUNCH_GAPS
from kernel_pytorch.perf.ladder.ledger import Expected, Ledger
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, ModelRung, Prediction, Recipe, Rung, WrapRung

if TYPE_CHECKING:
    from kernel_pytorch.perf.profile import Profile

# Before the first compile was seen. A small model takes a few seconds, a decoder of 28 layers about forty.
FIRST_COMPILE_S = 20.0
# An attempt is applied, checked on three sets of inputs and measured, some of them twice.
_MEASUREMENTS = 2.0
_CHECKING_S = 1.0
_SHOWN = 4


@dataclass(frozen=True)
class Climate:
    """What a promise depends on: the profile of the best so far, what is kept, and what compiling took."""

    profile: Profile | None
    inputs: Inputs
    kept: Recipe
    known: tuple[Rung, ...]
    compile_s: float
    measure_s: float

    @property
    def slots(self) -> frozenset[str]:
        """The kinds of wrapper that are kept."""
        names = {step.rung for step in self.kept}
        return frozenset(one.slot for one in self.known if isinstance(one, WrapRung) and one.name in names)


def predicted(rung: Rung, climate: Climate) -> Prediction:
    """What the rung itself says; no prediction is no reason to stop."""
    profile = climate.profile
    if profile is None:
        return Prediction(None, "there is no profile")
    if "capture" in climate.slots:
        # The profile is of the call that was recorded: in the recording nobody waits for launches any more.
        profile = replace(profile, advice=tuple(one for one in profile.advice if one.title != LAUNCH_GAPS))
    try:
        return rung.predict(profile, climate.inputs)
    except Exception as error:
        return Prediction(None, f"no prediction: {type(error).__name__}: {error}"[:200])


def expected(rung: Rung, climate: Climate) -> Expected:
    """What trying a rung should save, and how long it should take."""
    promise = predicted(rung, climate)
    total = _call_ms(climate)
    saving = max(promise.saving_ms or 0.0, rung.usual_share * total)
    return Expected(rung.name, round(min(saving, total), 4), round(cost_s(rung, climate), 1))


def _call_ms(climate: Climate) -> float:
    """One call as it is now: a recorded one has no gaps."""
    profile = climate.profile
    if profile is None:
        return 0.0
    return sum(row.busy_ms for row in profile.timelines) if "capture" in climate.slots else profile.total_ms


def cost_s(rung: Rung, climate: Climate) -> float:
    """Seconds that an attempt takes."""
    compiles = rung.compiles
    if isinstance(rung, ModelRung) and "compile" in climate.slots:
        compiles = max(compiles, 1.0)
    return compiles * climate.compile_s + _MEASUREMENTS * climate.measure_s + _CHECKING_S


def in_order(rungs: Iterable[Rung], climate: Climate) -> list[Rung]:
    """The best promise per second first. Variables come before everything: the rest has to run with them."""
    if climate.profile is None:
        return list(rungs)

    def place(rung: Rung) -> tuple[bool, float]:
        promise = expected(rung, climate)
        return (not isinstance(rung, EnvironmentRung), -promise.saving_ms / promise.seconds)

    return sorted(rungs, key=place)


def shown(rungs: Iterable[Rung], climate: Climate, applies: Callable[[Rung], bool]) -> tuple[Expected, ...]:
    """What the climb expects before it starts: the first few that apply, in order. Looking for more takes time."""
    if climate.profile is None:
        return ()
    ones = (one for one in in_order(rungs, climate) if not isinstance(one, EnvironmentRung))
    return tuple(expected(one, climate) for one in itertools.islice(filter(applies, ones), _SHOWN))


def compile_seconds(ledger: Ledger, known: Iterable[Rung]) -> float:
    """What the last compile of this climb took; a guess before there was one."""
    compiles = {one.name: one.compiles for one in known if isinstance(one, WrapRung) and one.slot == "compile"}
    seen = [
        attempt.first_call_s / compiles[entry.rung]
        for entry in ledger.entries
        for attempt in entry.attempts
        if attempt.first_call_s is not None and compiles.get(entry.rung, 0.0) > 0
    ]
    return max(1.0, seen[-1]) if seen else FIRST_COMPILE_S
