"""One set of options of one rung, from applying it to the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.check.reference import Reference
from kernel_pytorch.models.clock.in_turns import MARGIN, Comparison
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.memory import is_out_of_memory, release_unused
from kernel_pytorch.models.undisturbed import undisturbed
from kernel_pytorch.perf.ladder.breaks import Breaks, counted_breaks, traced_breaks
from kernel_pytorch.perf.ladder.deadline import OutOfTime, time_limit
from kernel_pytorch.perf.ladder.ledger import DOES_NOT_APPLY, KEPT, NOT_TRIED, ROLLED_BACK, Attempt
from kernel_pytorch.perf.ladder.loosened import allowed, judged
from kernel_pytorch.perf.ladder.measuring import Measure, target_for
from kernel_pytorch.perf.ladder.recipe import with_step, wrap_steps, wrapped
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Recipe, Rung, WrapRung
from kernel_pytorch.perf.ladder.untouched import untouched

if TYPE_CHECKING:
    from torch import nn

COMPILE_SLOT = "compile"


@dataclass
class Candidate:
    """Something that could be used now: a recipe and what it built. `breaks` is None until they were counted.

    `unrecorded` is the function without its recording, for a profiler; None where nothing was recorded."""

    recipe: Recipe
    model: nn.Module
    function: Callable[..., Any]
    breaks: Breaks | None = None
    unrecorded: Callable[..., Any] | None = None


@dataclass
class Trial:
    """What an attempt needs to know, and how far it got."""

    reference: Reference
    best: Candidate
    known: tuple[Rung, ...]
    measure: Measure
    measure_s: float
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    doing: str = "being applied"
    facts: dict[str, Any] = field(default_factory=dict)


class _Refused(Exception):
    """The candidate is wrong or not worth it; the message is the reason."""


def attempt(
    trial: Trial, rung: ModelRung | WrapRung, options: Options, seconds: float
) -> tuple[Attempt, Candidate | None]:
    """The attempt for the ledger, and what it built where that is to be kept. Raises nothing but an interrupt."""
    began = trial.clock()
    trial.facts = {}
    trial.doing = "being applied"
    kept: Candidate | None = None
    try:
        with time_limit(seconds):
            candidate, comparison = _candidate(trial, rung, options)
            kept = candidate
        outcome, reason = KEPT, comparison.in_words()
        if allowed(candidate.recipe, trial.known):
            reason += f"; {trial.facts['referee']}"
    except NotApplicable as why:
        outcome, reason = DOES_NOT_APPLY, str(why)
    except _Refused as why:
        outcome, reason = ROLLED_BACK, str(why)
    except OutOfTime:
        outcome, reason = (
            NOT_TRIED,
            f"stopped after {seconds:.0f} s while {trial.doing}: its share of the budget was over",
        )
        forget_compiled()
    except Exception as error:
        outcome, reason = ROLLED_BACK, _failure(error, trial.doing)
    if kept is None:
        release()
    return replace(
        Attempt(dict(options), outcome, reason), seconds=round(trial.clock() - began, 3), **trial.facts
    ), kept


def _candidate(trial: Trial, rung: ModelRung | WrapRung, options: Options) -> tuple[Candidate, Comparison]:
    best, reference = trial.best, trial.reference
    trial.say("applying")
    candidate = _built(trial, rung, options)
    trial.doing = "running for the first time"
    trial.say("first call, which may compile")
    compiles = any(one.slot == COMPILE_SLOT for one, _ in wrap_steps(candidate.recipe, trial.known))
    began = trial.clock()
    with counted_breaks() as breaks:
        reference.run(candidate.function, reference.sets[0], candidate.model)
        trial.facts["first_call_s"] = round(trial.clock() - began, 3)
        trial.doing = "being checked"
        trial.say("checking outputs on fresh inputs")
        checked = reference.compare(candidate.function, candidate.model)
        share = allowed(candidate.recipe, trial.known)
        checked = judged(checked, reference, candidate.function, candidate.model, share)
    difference = checked.difference
    trial.facts.update(
        error=_finite(difference.error), allowed_error=_finite(difference.limit), referee=checked.referee
    )
    if not checked.is_right:
        raise _Refused(f"wrong: {checked.reason}")
    if isinstance(rung, ModelRung) and not reference.still_right():
        raise _Refused("wrong: the original no longer computes what it did")
    trial.doing = "being traced for graph breaks"
    _count_breaks(trial, rung, candidate, breaks if compiles else None)
    trial.doing = "being measured"
    trial.say("measuring in turns with the best so far")
    before = target_for("best so far", best.function, best.model, reference.inputs)
    after = target_for(rung.name, candidate.function, candidate.model, reference.inputs)
    with undisturbed(reference.model):
        comparison = trial.measure(before, after, trial.measure_s)
        if comparison.verdict != "slower" and comparison.ratio < 1 - MARGIN and not comparison.is_faster:
            # Looks faster, and the noise forbids to say so: one longer look.
            trial.say("measuring again, for longer")
            comparison = trial.measure(before, after, 3 * trial.measure_s)
    trial.facts["comparison"] = comparison
    if not comparison.is_faster:
        raise _Refused(comparison.why_not_faster())
    return candidate, comparison


def _built(trial: Trial, rung: ModelRung | WrapRung, options: Options) -> Candidate:
    best, inputs = trial.best, trial.reference.inputs
    recipe = with_step(best.recipe, rung, options, trial.known)
    with untouched(best.model) as changed:
        if isinstance(rung, ModelRung):
            model = rung.apply(best.model, inputs, options)
            _refuse_other_state(best.model, model)
            try:
                around = wrapped(model, inputs, recipe, trial.known)
            except NotApplicable as why:
                raise _Refused(f"what was kept around the model does not apply to it any more: {why}") from why
        else:
            model = best.model
            around = wrapped(model, inputs, recipe, trial.known)
    if changed:
        raise _Refused(f"it changed the model it was given: {', '.join(changed[:3])}")
    return Candidate(recipe, model, around.function, unrecorded=around.unrecorded)


def _refuse_other_state(before: nn.Module, after: nn.Module) -> None:
    """Checkpoints must load and save as before."""
    if after is before:
        raise _Refused("it gave back the model it was given")
    old, new = before.state_dict(), after.state_dict()
    if list(old) != list(new):
        odd = sorted(old.keys() ^ new.keys())
        raise _Refused(f"its state_dict has other keys: {', '.join(odd[:3]) or 'in another order'}")
    for name, item in old.items():
        if getattr(item, "shape", None) != getattr(new[name], "shape", None):
            raise _Refused(f"{name} has another shape in its state_dict")


def _count_breaks(trial: Trial, rung: Rung, candidate: Candidate, seen: Breaks | None) -> None:
    """Refuse a candidate whose graph breaks where that of the best so far does not. `seen` is from a real compile."""
    best = trial.best
    if isinstance(rung, WrapRung):
        if not seen or not seen.count:
            candidate.breaks = best.breaks
            return
        best.breaks = candidate.breaks = best.breaks or traced(trial, best)
        counted = seen
    else:
        # A tree that differs from the last in nothing Dynamo guards is not traced again: then nothing was seen.
        nothing_seen = seen is not None and seen.count == 0 and best.breaks is not None and best.breaks.count == 0
        best.breaks = best.breaks or traced(trial, best)
        counted = candidate.breaks = Breaks(0) if nothing_seen else traced(trial, candidate)
    trial.facts["graph_breaks"] = counted.count
    before = best.breaks
    if counted.count is None or before.count is None or counted.count <= before.count:
        return
    new = counted.count - before.count
    why = [text for text in counted.reasons if text not in before.reasons] or counted.reasons
    raise _Refused(f"{new} new graph break{'s' if new > 1 else ''}: {'; '.join(why[:2])}")


def traced(trial: Trial, candidate: Candidate) -> Breaks:
    """Breaks that compiling the tree would meet; unknown where Dynamo itself fails on it."""
    try:
        with undisturbed(trial.reference.model):
            return traced_breaks(candidate.model, trial.reference.inputs)
    except Exception:
        return Breaks()


def forget_compiled() -> None:
    """After an interrupted compile: what Dynamo holds may be half done."""
    import torch._dynamo

    torch._dynamo.reset()


def device_answers() -> bool:
    """False after a kernel that faulted: nothing of this process runs on the GPU any more."""
    import torch

    if not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
        return bool(torch.ones(1, device="cuda").item() == 1.0)
    except RuntimeError:
        return False


def release() -> None:
    """Give back what a dropped candidate held."""
    import torch

    if torch.cuda.is_initialized():  # on a host nothing is short enough to be worth a walk over all objects
        release_unused(torch.device("cuda"))


def _failure(error: BaseException, doing: str) -> str:
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    if any(is_out_of_memory(one) for one in chain):
        return f"ran out of memory while {doing}: it needs more than is free beside the best so far"
    root = chain[-1]
    return f"failed while {doing}: {type(root).__name__}: {(str(root).splitlines() or [''])[0][:300]}"


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None
