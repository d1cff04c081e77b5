"""Rewrites applied to a model itself, one after the other: each checked, timed, and kept or taken back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.check.reference import Checked, Reference
from kernel_pytorch.models.clock.as_used import as_used
from kernel_pytorch.models.clock.device import Timer, current_device
from kernel_pytorch.models.clock.in_turns import Comparison, compare_in_turns
from kernel_pytorch.models.clock.rotated import rotated_calls
from kernel_pytorch.models.clock.rounds import local_contender
from kernel_pytorch.models.fx.calls import KnownCalls, known_calls
from kernel_pytorch.models.fx.edit import edit_forwards, edit_without_example
from kernel_pytorch.models.fx.parts import proven
from kernel_pytorch.models.fx.rewrite import Applied, Job, NotApplicable, Rewrite
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.undisturbed import undisturbed

if TYPE_CHECKING:
    from torch import nn

APPLIED, UNDONE, LEFT_ALONE = "applied", "undone", "left alone"
THE_MODEL = "the model"
# For one comparison with and without a rewrite.
MEASURE_S = 2.0


@dataclass(frozen=True)
class Outcome:
    """What became of one rewrite, or why one place was left alone."""

    name: str
    outcome: str
    where: tuple[str, ...]
    reason: str = ""
    what: tuple[str, ...] = ()
    effect: str = ""
    comparison: Comparison | None = None
    difference: float | None = None
    is_fusion: bool = False


@dataclass
class InPlace:
    """A model that rewrites are tried on. Without a reference each change is proven by itself (`fx.parts`)."""

    model: nn.Module
    job: Job
    reference: Reference | None
    outcomes: list[Outcome] = field(default_factory=list)
    _kept: list[tuple[Rewrite, Applied]] = field(default_factory=list)
    _calls: KnownCalls | None = None

    def attempt(self, rewrite: Rewrite) -> None:
        """Apply, check, time; keep or take back. Whatever the rewrite does becomes an outcome."""
        reason = self._obstacle(rewrite)
        if reason:
            self.leave(rewrite.name, THE_MODEL, reason)
            return
        try:
            if self.reference is not None:
                self.reference.note(rewrite.compared)
            applied = self._apply(rewrite)
        except NotApplicable as why:
            self.leave(rewrite.name, THE_MODEL, str(why))
            return
        except Exception as error:
            self.outcomes.append(Outcome(rewrite.name, UNDONE, (THE_MODEL,), f"it failed: {_in_short(error)}"))
            return
        for where, reason in dict.fromkeys(applied.refusals):
            self.leave(rewrite.name, where, reason)
        known = {(*one.where, one.reason) for one in self.outcomes}
        for where, reason in dict.fromkeys(applied.untraceable):
            if (where, reason) not in known:
                self.leave("tracing", where, reason)
        if applied.changes:
            self._judge(rewrite, applied)

    def leave(self, name: str, where: str, reason: str) -> None:
        """Note what is not tried, once."""
        one = Outcome(name, LEFT_ALONE, (where,), reason)
        if one not in self.outcomes:
            self.outcomes.append(one)

    def _obstacle(self, rewrite: Rewrite) -> str | None:
        if rewrite.only_if_faster and not self.job.measures:
            return "kept only where a measurement shows that it pays, and nothing is measured here (measure=True)"
        if self.reference is None and not rewrite.is_local:
            return "needs example_inputs to be checked by"
        return rewrite.available(self.model, self.job)

    def _apply(self, rewrite: Rewrite) -> Applied:
        if rewrite.apply is not None:
            made = rewrite.apply(self.model, self.job)
            return made if isinstance(made, Applied) else Applied(changes=made)
        if self.reference is not None:
            return edit_forwards(rewrite, self.model, self.reference.inputs)
        self._calls = self._calls or known_calls(self.model)
        return edit_without_example(rewrite, self.model, self._calls)

    def _judge(self, rewrite: Rewrite, applied: Applied) -> None:
        places = tuple(change.where for change in applied.changes)
        comparison: Comparison | None = None
        try:
            checked = self._checked(rewrite, applied)
            reason = checked.reason
            without_effect = "; ".join(filter(None, (one.trouble() for one in applied.changes if one.trouble)))
            if without_effect:
                reason = f"without effect: {without_effect}"
            if not reason and self.job.measures and self.reference is not None:
                comparison = compare_states(self.model, self.reference.inputs, applied.switch)
                reason = _why_not_kept(rewrite, comparison, self._device)
        except Exception as error:
            reason = f"the model fails with it: {_in_short(error)}"
        if reason:
            applied.undo()
            self.outcomes.append(Outcome(rewrite.name, UNDONE, places, reason))
            return
        self.outcomes.append(
            Outcome(
                rewrite.name,
                APPLIED,
                places,
                what=tuple(applied.in_words()),
                effect=rewrite.effect if comparison is None else f"{comparison.in_words()} on {self._device}",
                comparison=comparison,
                difference=checked.difference.error,
                is_fusion=rewrite.is_fusion,
            )
        )
        if rewrite.reconsiders and comparison is not None:
            self._reconsider(rewrite)
        self._kept.append((rewrite, applied))

    def _checked(self, rewrite: Rewrite, applied: Applied) -> Checked:
        if self.reference is not None:
            return self.reference.compare(self.model, self.model, conditions=rewrite.compared, exact=rewrite.is_exact)
        found = [proven(change, exact=rewrite.is_exact) for change in applied.changes]
        return next((one for one in found if not one.is_right), max(found, key=lambda one: one.difference.error))

    def _reconsider(self, latest: Rewrite) -> None:
        """Take the earlier rewrites back, all of them, if the model is slower with them now than without.

        Inductor does some of what they do, and does it better where it sees the original."""
        earlier = self._kept
        if not earlier or not all(rewrite.judged_by_time for rewrite, _ in earlier):
            return  # a checkpointed forward encloses what it found: it cannot be switched from below
        assert self.reference is not None

        def switch(on: bool) -> None:
            for _, applied in earlier if on else reversed(earlier):
                applied.switch(on)

        try:
            comparison = compare_states(self.model, self.reference.inputs, switch)
        except Exception as error:
            switch(True)
            reason = f"the steps before it could not be measured again: {_in_short(error)}"
            self.leave(latest.name, THE_MODEL, reason)
            return
        if not comparison.is_slower:
            return
        gone = {rewrite.name for rewrite, _ in earlier}
        self.outcomes = [one for one in self.outcomes if one.outcome != APPLIED or one.name not in gone]
        words = f"{comparison.in_words()} on {self._device}"
        for rewrite, applied in reversed(earlier):
            applied.undo()
            reason = f"slower with {latest.name}, all steps before it together: {words}"
            self.outcomes.append(
                Outcome(rewrite.name, UNDONE, tuple(change.where for change in applied.changes), reason)
            )
        self._kept = []

    @property
    def _device(self) -> Any:
        return next(item.device for item in self.model.parameters())


def compare_states(model: nn.Module, inputs: Inputs, switch: Callable[[bool], None]) -> Comparison:
    """Time the model with a change switched off and on, in turns. The change is on afterwards."""
    import torch

    place = next(item.device for item in model.parameters())
    with undisturbed(model), torch.cuda.device(place) if place.type == "cuda" else nullcontext():
        device = current_device(force_cpu=place.type != "cuda")
        calls = rotated_calls(as_used(model, model, inputs), inputs, device.flush_bytes // 2)
        timer = Timer(device)
        before = local_contender("the model without the change", calls, timer, lambda: switch(False))
        after = local_contender("the model with the change", calls, timer, lambda: switch(True))
        try:
            return compare_in_turns(before, after, device, MEASURE_S)
        finally:
            switch(True)


def _why_not_kept(rewrite: Rewrite, comparison: Comparison, device: Any) -> str:
    refused = comparison.is_slower if rewrite.judged_by_time else False
    if refused or (rewrite.only_if_faster and not comparison.is_faster):
        return f"{comparison.why_not_faster()} on {device}"
    return ""


def _in_short(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"
