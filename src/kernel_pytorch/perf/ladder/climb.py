"""The climb: predict, find, apply, check, measure, keep or roll back; rung after rung, within a budget of time.

The rung that promises most per second comes next (`order`), and is tried on what was kept so far. Whatever one rung
does - raise, be wrong, run out of memory or out of time - is a line in the ledger, and the climb goes on.
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
from kernel_pytorch.models.check.reference import call_referee, take_reference
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.undisturbed import undisturbed
from kernel_pytorch.perf.ladder.attempt import Candidate, Trial, attempt, device_answers, forget_compiled
from kernel_pytorch.perf.ladder.breaks import many_variants
from kernel_pytorch.perf.ladder.deadline import OutOfTime, time_limit
from kernel_pytorch.perf.ladder.ledger import DOES_NOT_APPLY, KEPT, NOT_TRIED, ROLLED_BACK, Attempt, Entry, Ledger
from kernel_pytorch.perf.ladder.loosened import allowed, judged
from kernel_pytorch.perf.ladder.measuring import Measure, measure_in_turns, target_for
from kernel_pytorch.perf.ladder.order import Climate, compile_seconds, in_order, predicted, shown
from kernel_pytorch.perf.ladder.recipe import build, built_from, environment_of, with_step
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, ModelRung, Options, Rung
from kernel_pytorch.perf.ladder.rungs.one_row import why_settled
from kernel_pytorch.perf.ladder.state import ClimbState, Event, Rules, TryEnvironment
from kernel_pytorch.perf.ladder.untouched import untouched

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

# While other rungs wait, one may not take more than this part of what is left. They promise less per second than it.
_SHARE = 0.85
_REFEREE_SHARE = 0.1
_NEEDS_TARGET = "only `kpt optimize TARGET` can try it: the variables act when torch is imported"


@dataclass(frozen=True)
class Climbed:
    """What a climb gives. `restart_with` are variables under which the rest has to be climbed, in a new process."""

    model: nn.Module
    function: Callable[..., Any]
    ledger: Ledger
    restart_with: dict[str, str] = field(default_factory=dict)


class DeviceLost(AMDDeviceError):
    """A rung's kernel faulted, which ends all GPU work of the process. The ledger is written."""


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
    state = ClimbState(
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


def _prepare(state: ClimbState) -> None:
    try:
        state.reference = take_reference(state.model, state.inputs, state.rules.allow)
    except AMDOptimizationError:
        raise
    except Exception as error:
        raise AMDOptimizationError(f"the model does not run on its inputs: {type(error).__name__}: {error}") from error
    try:
        with time_limit(max(1.0, _REFEREE_SHARE * state.rules.budget_s)):
            call_referee(state.reference, stays=True)
    except OutOfTime:
        state.note("no referee: the model in double precision takes too long")
    referee = state.reference.referee
    for text in (*state.reference.notes, f"no referee: {referee.why_none}" if referee.why_none else ""):
        if text:
            state.note(text)
    if 2 not in state.rules.levels and state.rules.levels & {3, 4}:
        state.note(
            "level 2 was not asked for: rungs of levels 3 and 4 were tried on a model that is neither compiled nor "
            "recorded, and may gain nothing where it is"
        )
    recipe = state.ledger.recipe(state.known)
    state.best = Candidate((), state.model, state.model)
    if recipe:
        built = build(state.model, state.inputs, recipe, state.known)
        state.best = Candidate(recipe, built.model, built.function)
        checked = state.reference.compare(built.function, built.model)
        share = allowed(recipe, state.known)
        checked = judged(checked, state.reference, built.function, built.model, share)
        if not checked.is_right:
            raise AMDOptimizationError(f"what the ledger keeps is wrong now: {checked.reason}; start again without it")


def _all_rungs(state: ClimbState) -> dict[str, str]:
    """Try what is not decided yet. Returns variables where a new process has to go on with them."""
    open_rungs = [one for one in state.known if not _is_decided(state, one)]
    waiting: list[Rung] = []
    number = len(state.known) - len(open_rungs)
    while open_rungs:
        rung = _next(state, open_rungs)
        if not isinstance(rung, EnvironmentRung):
            missing = _missing_variables(state)
            if missing:
                return missing
        open_rungs.remove(rung)
        number = min(number + 1, len(state.known))

        def say(doing: str, rung: Rung = rung, number: int = number, entry: Entry | None = None) -> None:
            state.say(Event(rung.name, number, len(state.known), doing, max(0.0, state.left()), entry))

        before = state.ledger.entry(rung.name)
        entry = _one_rung(state, rung, say, _SHARE if open_rungs else 1.0)
        state.write(entry)
        if entry.outcome == DOES_NOT_APPLY:
            waiting.append(rung)  # it may apply to what is kept later
        elif entry.outcome == KEPT:
            open_rungs, waiting = [one for one in state.known if one in open_rungs or one in waiting], []
        if before is None or (before.outcome, before.reason) != (entry.outcome, entry.reason):
            say(entry.outcome, entry=entry)
        if entry.outcome == ROLLED_BACK and not device_answers():
            raise DeviceLost(
                f"the GPU no longer answers this process since rung {rung.name} failed; what was decided is in the "
                "ledger: go on with it in a new process (--resume)"
            )
    return {}


def _is_decided(state: ClimbState, rung: Rung) -> bool:
    before = state.ledger.entry(rung.name)
    return before is not None and before.is_decided


def _next(state: ClimbState, open_rungs: list[Rung]) -> Rung:
    """Variables first, since the rest has to run with them; then by promise. What is not tried needs no profile."""
    for rung in open_rungs:
        if isinstance(rung, EnvironmentRung):
            return rung
    if state.rules.leaves_out(open_rungs[0]) or state.left() <= state.reserve:
        return open_rungs[0]
    if state.profiled != state.best.recipe:
        _profile(state, open_rungs[0])
    climate = _climate(state)
    if not state.ledger.expected and not state.tried:
        expected = shown(open_rungs, climate, lambda one: _applies(state, one))
        state.ledger = replace(state.ledger, expected=expected)
        if expected:
            count = len(state.known)
            state.say(Event("", 0, count, "expecting", max(0.0, state.left()), expected=expected))
    return in_order(open_rungs, climate)[0]


def _applies(state: ClimbState, rung: Rung) -> bool:
    """As far as looking at the model tells."""
    if state.rules.leaves_out(rung):
        return False
    try:
        with untouched(state.best.model):
            state.found(rung)
    except Exception:  # it is a line in the ledger when the rung's turn comes
        return False
    return True


def _climate(state: ClimbState) -> Climate:
    seconds = compile_seconds(state.ledger, state.known)
    return Climate(state.profile, state.inputs, state.best.recipe, state.known, seconds, state.rules.measure_s)


def _missing_variables(state: ClimbState) -> dict[str, str]:
    """Kept variables that this process does not have. A library call cannot get them any more and goes on."""
    wanted = environment_of(state.best.recipe, state.known)
    missing = {name: value for name, value in wanted.items() if os.environ.get(name) != value}
    if missing and state.try_environment is None:
        state.note(
            f"measured without {', '.join(sorted(missing))}, which the ledger keeps: set them before importing torch"
        )
        return {}
    return missing


def _one_rung(state: ClimbState, rung: Rung, say: Callable[[str], None], share: float) -> Entry:
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
                found = state.found(rung)
                if isinstance(rung, ModelRung) and (reason := why_settled(state.best.recipe)):
                    raise NotApplicable(reason)
                choices = rung.choices(state.best.model, state.inputs, state.best.recipe)
            if changed:
                raise RuntimeError(f"it changed the model: {', '.join(changed[:3])}")
            promise = predicted(rung, _climate(state))
    except NotApplicable as why:
        return replace(entry, outcome=DOES_NOT_APPLY, reason=str(why))
    except OutOfTime:
        return replace(entry, reason="no time left in the budget while looking for what it would change")
    except Exception as error:
        reason = f"failed while looking for what it would change: {type(error).__name__}: {error}"
        return replace(entry, outcome=ROLLED_BACK, reason=reason[:400])
    entry = replace(entry, found=found, predicted_ms=promise.saving_ms, predicted_why=promise.why)
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


def _one_attempt(
    state: ClimbState, rung: Rung, options: Options, seconds: float, say: Callable[[str], None]
) -> Attempt:
    if isinstance(rung, EnvironmentRung):
        assert state.try_environment is not None
        kept = environment_of(state.best.recipe, state.known)
        say("measuring in processes of their own")
        done = state.try_environment(kept, rung, options, seconds)
        if done.outcome == KEPT:
            state.best.recipe = with_step(state.best.recipe, rung, dict(done.options), state.known)
        return done
    result = built_from(with_step(state.best.recipe, rung, options, state.known), state.known)
    if result in state.tried:
        return Attempt(dict(options), DOES_NOT_APPLY, f"the same was measured already, as {state.tried[result]}")
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
    if done.comparison is not None:
        state.tried[result] = rung.name
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


def _profile(state: ClimbState, rung: Rung) -> None:
    """Of the best so far; the older one stays where another would cost too much of the time that is left."""
    if state.profile is not None and state.profile_s >= 0.05 * state.left():
        return
    state.say(Event(rung.name, 0, len(state.known), "profiling the best so far", max(0.0, state.left())))
    began = state.clock()
    try:
        with time_limit(max(1.0, 0.25 * (state.left() - state.reserve))), undisturbed(state.model):
            state.profile = state.profiler(state.best) or state.profile
    except OutOfTime:
        state.note("not profiled: it took too much of the budget")
    except Exception as error:
        state.note(f"not profiled: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}")
    state.profiled, state.profile_s = state.best.recipe, state.clock() - began


def profile_of(candidate: Candidate, inputs: Inputs) -> Profile | None:
    """Where the time of one call goes now: of the call that a recording was made of, if there is one."""
    from kernel_pytorch.perf.analyse import analyse
    from kernel_pytorch.perf.profile_run import profile_target

    function = candidate.unrecorded or candidate.function
    run = profile_target(target_for("best so far", function, candidate.model, inputs), warmup=3, steps=1)
    return analyse(run.recording, None, run.compile_log)


def _whole(state: ClimbState) -> None:
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


def _environment_names(state: ClimbState) -> frozenset[str]:
    return frozenset(rung.name for rung in state.known if isinstance(rung, EnvironmentRung))
