"""The climb: predict, find, apply, check, measure, keep or roll back; rung after rung, within a budget of time.

Each rung is tried on what was kept so far. Whatever one rung does - raise, be wrong, run out of memory or out of time -
is a line in the ledger, and the climb goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import AMDDeviceError, AMDOptimizationError
from kernel_pytorch.models.check.reference import Reference, call_referee, take_reference
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.undisturbed import undisturbed
from kernel_pytorch.perf.ladder.attempt import Candidate, Trial, attempt, device_answers, forget_compiled
from kernel_pytorch.perf.ladder.breaks import many_variants
from kernel_pytorch.perf.ladder.deadline import OutOfTime, time_limit
from kernel_pytorch.perf.ladder.ledger import (
    DOES_NOT_APPLY,
    KEPT,
    LEFT_OUT,
    NOT_TRIED,
    ROLLED_BACK,
    Attempt,
    Entry,
    Ledger,
    save,
)
from kernel_pytorch.perf.ladder.measuring import Measure, measure_in_turns, target_for
from kernel_pytorch.perf.ladder.recipe import build, environment_of
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, Options, Prediction, Recipe, Rung
from kernel_pytorch.perf.ladder.untouched import untouched

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

LEVELS = frozenset(range(1, 6))
# A cap, not a target. The first compile on AMD takes up to fifteen minutes by itself (KP141).
BUDGET_S = 1800.0
MEASURE_S = 4.0
# While other rungs wait, one may not take more than this part of what is left.
_SHARE = 0.7
_REFEREE_SHARE = 0.1
_NEEDS_TARGET = "only `kpt optimize TARGET` can try it: the variables act when torch is imported"


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


@dataclass(frozen=True)
class Climbed:
    """What a climb gives. `restart_with` are variables under which the rest has to be climbed, in a new process."""

    model: nn.Module
    function: Callable[..., Any]
    ledger: Ledger
    restart_with: dict[str, str] = field(default_factory=dict)


class DeviceLost(AMDDeviceError):
    """A rung's kernel faulted, which ends all GPU work of the process. The ledger is written."""


TryEnvironment = Callable[[dict[str, str], EnvironmentRung, Options, float], Attempt]
"""Variables kept so far, the rung, the variables to try, seconds."""


@dataclass
class _Climb:
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


def climb(
    model: nn.Module,
    inputs: Inputs,
    known: tuple[Rung, ...],
    ledger: Ledger,
    rules: Rules,
    *,
    path: Path | None = None,
    measure: Measure = measure_in_turns,
    say: Callable[[Event], None] = lambda event: None,
    clock: Callable[[], float] = time.monotonic,
    try_environment: TryEnvironment | None = None,
    profiler: Callable[[Candidate], Profile | None] | None = None,
) -> Climbed:
    """Go up. `ledger` says what was decided before; `path` is where it is written after every rung."""
    state = _Climb(
        model=model,
        inputs=inputs,
        known=known,
        rules=rules,
        ledger=ledger,
        path=path,
        measure=measure,
        say=say,
        clock=clock,
        try_environment=try_environment,
        profiler=profiler or (lambda candidate: profile_of(candidate, inputs)),
    )
    state.ends, state.spent_before = clock() + rules.budget_s, ledger.spent_s
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    state.ledger = replace(ledger, budget_s=rules.budget_s, when=now, total=None)
    with many_variants():
        _prepare(state)
        restart = _all_rungs(state)
        if not restart:
            _whole(state)
    state.write()
    return Climbed(state.best.model, state.best.function, state.ledger, restart)


def _prepare(state: _Climb) -> None:
    try:
        state.reference = take_reference(state.model, state.inputs, state.rules.allow)
    except AMDOptimizationError:
        raise
    except Exception as error:
        raise AMDOptimizationError(f"the model does not run on its inputs: {type(error).__name__}: {error}") from error
    try:
        with time_limit(max(1.0, _REFEREE_SHARE * state.rules.budget_s)):
            call_referee(state.reference)
    except OutOfTime:
        state.note("no referee: the model in double precision takes too long")
    referee = state.reference.referee
    for text in (*state.reference.notes, f"no referee: {referee.why_none}" if referee.why_none else ""):
        if text:
            state.note(text)
    recipe = state.ledger.recipe(state.known)
    state.best = Candidate((), state.model, state.model)
    if recipe:
        built = build(state.model, state.inputs, recipe, state.known)
        state.best = Candidate(recipe, built.model, built.function)
        checked = state.reference.compare(built.function, built.model)
        if not checked.is_right:
            raise AMDOptimizationError(f"what the ledger keeps is wrong now: {checked.reason}; climb anew without it")


def _all_rungs(state: _Climb) -> dict[str, str]:
    """Try what is not decided yet. Returns variables where a new process has to go on with them."""
    for number, rung in enumerate(state.known, start=1):
        if not isinstance(rung, EnvironmentRung):
            missing = _missing_variables(state)
            if missing:
                return missing
        before = state.ledger.entry(rung.name)
        if before is not None and before.is_decided:
            continue

        def say(doing: str, rung: Rung = rung, number: int = number, entry: Entry | None = None) -> None:
            state.say(Event(rung.name, number, len(state.known), doing, max(0.0, state.left()), entry))

        last = number == len(state.known)
        entry = _one_rung(state, rung, say, 1.0 if last else _SHARE)
        state.write(entry)
        say(entry.outcome, entry=entry)
        if entry.outcome == ROLLED_BACK and not device_answers():
            raise DeviceLost(
                f"the GPU no longer answers this process since rung {rung.name} failed; what was decided is in the "
                "ledger: go on with it in a new process (--resume)"
            )
    return {}


def _missing_variables(state: _Climb) -> dict[str, str]:
    """Kept variables that this process does not have. A library call cannot get them any more and goes on."""
    wanted = environment_of(state.best.recipe, state.known)
    missing = {name: value for name, value in wanted.items() if os.environ.get(name) != value}
    if missing and state.try_environment is None:
        state.note(
            f"measured without {', '.join(sorted(missing))}, which the ledger keeps: set them before importing torch"
        )
        return {}
    return missing


def _one_rung(state: _Climb, rung: Rung, say: Callable[[str], None], share: float) -> Entry:
    began = state.clock()
    entry = Entry(rung.name, rung.level, rung.title, rung.kind, NOT_TRIED, "")
    reason = state.rules.leaves_out(rung)
    if not reason and isinstance(rung, EnvironmentRung) and state.try_environment is None:
        reason = _NEEDS_TARGET
    if not reason and state.left() <= state.reserve:
        reason = "no time left in the budget"
    if reason:
        return replace(entry, reason=reason)
    try:
        with time_limit(max(1.0, state.left() - state.reserve)):
            say("looking")
            with untouched(state.best.model) as changed:
                found = rung.find(state.best.model, state.inputs)
                choices = rung.choices(state.best.model, state.inputs, state.best.recipe)
            if changed:
                raise RuntimeError(f"it changed the model: {', '.join(changed[:3])}")
            predicted = _prediction(state, rung, say)
    except NotApplicable as why:
        return replace(entry, outcome=DOES_NOT_APPLY, reason=str(why))
    except OutOfTime:
        return replace(entry, reason="no time left in the budget while looking for what it would change")
    except Exception as error:
        reason = f"failed while looking for what it would change: {type(error).__name__}: {error}"
        return replace(entry, outcome=ROLLED_BACK, reason=reason[:400])
    entry = replace(entry, found=found, predicted_ms=predicted.saving_ms, predicted_why=predicted.why)
    attempts: list[Attempt] = []
    for options in choices:
        left = state.left() - state.reserve
        if left <= 0:
            attempts.append(Attempt(dict(options), NOT_TRIED, "no time left in the budget"))
            break
        attempts.append(_one_attempt(state, rung, options, share * left, say))
    outcome, reason = _summary(attempts)
    seconds = round(state.clock() - began, 3)
    return replace(entry, outcome=outcome, reason=reason, attempts=tuple(attempts), seconds=seconds)


def _one_attempt(state: _Climb, rung: Rung, options: Options, seconds: float, say: Callable[[str], None]) -> Attempt:
    if isinstance(rung, EnvironmentRung):
        from kernel_pytorch.perf.ladder.recipe import with_step

        assert state.try_environment is not None
        kept = environment_of(state.best.recipe, state.known)
        say("measuring in processes of their own")
        done = state.try_environment(kept, rung, options, seconds)
        if done.outcome == KEPT:
            state.best.recipe = with_step(state.best.recipe, rung, dict(done.options), state.known)
        return done
    trial = Trial(
        reference=state.reference,
        best=state.best,
        known=state.known,
        measure=state.measure,
        measure_s=min(state.rules.measure_s, max(0.5, 0.25 * seconds)),
        say=say,
        clock=state.clock,
    )
    done, built = attempt(trial, rung, options, seconds)
    if built is not None:
        state.best = built
    return done


def _summary(attempts: list[Attempt]) -> tuple[str, str]:
    """The outcome of a rung: the best that came of its attempts, with that one's reason."""
    for outcome in (KEPT, ROLLED_BACK, NOT_TRIED, DOES_NOT_APPLY):
        for one in reversed(attempts):
            if one.outcome == outcome:
                return outcome, one.reason
    return DOES_NOT_APPLY, "there is nothing to choose from"


def _prediction(state: _Climb, rung: Rung, say: Callable[[str], None]) -> Prediction:
    """By a profile of the best so far; an older one where another would cost too much of the time that is left."""
    if state.profiled != state.best.recipe and (state.profile is None or state.profile_s < 0.05 * state.left()):
        say("profiling the best so far")
        began = state.clock()
        try:
            with undisturbed(state.model):
                state.profile = state.profiler(state.best) or state.profile
        except Exception as error:
            state.note(f"not profiled: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}")
        state.profiled, state.profile_s = state.best.recipe, state.clock() - began
    if state.profile is None:
        return Prediction(None, "there is no profile")
    try:
        return rung.predict(state.profile, state.inputs)
    except Exception as error:
        return Prediction(None, f"no prediction: {type(error).__name__}: {error}"[:200])


def profile_of(candidate: Candidate, inputs: Inputs) -> Profile | None:
    """Where the time of one call goes now."""
    from kernel_pytorch.perf.analyse import analyse
    from kernel_pytorch.perf.profile_run import profile_target

    run = profile_target(target_for("best so far", candidate.function, candidate.model, inputs), warmup=3, steps=1)
    return analyse(run.recording, None, run.compile_log)


def _whole(state: _Climb) -> None:
    """The original against all that was kept, once more in turns: what the user gets."""
    if not [step for step in state.best.recipe if step.rung not in _environment_names(state)]:
        return
    state.say(Event("", len(state.known), len(state.known), "measuring the whole against the original", state.left()))
    seconds = min(state.rules.measure_s, max(1.0, state.left()))
    try:
        with time_limit(max(3 * seconds, state.left())), undisturbed(state.model):
            total = state.measure(
                target_for("original", state.model, state.model, state.inputs),
                target_for("all kept rungs", state.best.function, state.best.model, state.inputs),
                seconds,
            )
    except OutOfTime:
        forget_compiled()
        state.note("the whole was not measured against the original: no time left in the budget")
        return
    except Exception as error:
        state.note(f"the whole was not measured against the original: {type(error).__name__}: {error}"[:300])
        return
    state.ledger = replace(state.ledger, total=total)
    if total.verdict == "slower":
        reason = f"all kept rungs together are slower than the original: {total.in_words()}"
        entries = [
            replace(one, outcome=ROLLED_BACK, reason=reason)
            if one.outcome == KEPT and one.rung not in _environment_names(state)
            else one
            for one in state.ledger.entries
        ]
        state.ledger = replace(state.ledger, entries=tuple(entries), total=None)
        state.best = Candidate(state.ledger.recipe(state.known), state.model, state.model)
        state.note(reason)


def _environment_names(state: _Climb) -> frozenset[str]:
    return frozenset(rung.name for rung in state.known if isinstance(rung, EnvironmentRung))
