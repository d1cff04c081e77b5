"""Replays the backward pass of a recorded model: free, as a training step sees it, and forced, module by module.

In the forced pass every module gets the recorded inputs and the recorded gradients of its outputs, and whoever made its
inputs gets the recorded gradients too: what differs then is the backward pass of that module alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.verify.golden.archive import EventRecord, GoldenArchive
from kernel_pytorch.verify.golden.backward import (
    GRAD_IN,
    GRAD_OUT,
    INPUTS,
    LOSS,
    WEIGHTS,
    NoBackward,
    run_backward,
)
from kernel_pytorch.verify.golden.diagnose import Diagnosis
from kernel_pytorch.verify.golden.observe import ROOT, Event
from kernel_pytorch.verify.golden.replay import Culprit, EventResult, caller_of, forced_tensor, judged
from kernel_pytorch.verify.golden.tolerance import EPSILON, Sums, backward_length, coarse_products

# A gradient rests on rounded activations and rounded gradients, and is a product and a sum of them: four roundings
# where an output has one.
_STEPS = 4


@dataclass(frozen=True)
class BackwardCheck:
    """Loss and gradients here against the record."""

    free: tuple[EventResult, ...] = ()
    forced: tuple[EventResult, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    note: str = ""  # why there is nothing to compare

    @property
    def loss(self) -> EventResult | None:
        """The loss of the free pass."""
        return next((one for one in self.free if one.event == LOSS), None)

    @property
    def ends(self) -> tuple[EventResult, ...]:
        """What a training step uses: the loss and the gradients of parameters and inputs, in the free pass."""
        return tuple(one for one in self.free if one.event.phase in (LOSS.phase, WEIGHTS, INPUTS))

    @property
    def ok(self) -> bool:
        return not self.culprits and all(one.ok for one in self.ends)


def check_backward(model: Any, subject: Subject, archive: GoldenArchive, mode: str) -> BackwardCheck:
    """The record's backward pass, replayed in one mode. A record without one is not compared."""
    expected = {event.key: event for event in archive.record.backward.get(mode, ())}
    if not expected:
        return BackwardCheck(note=archive.record.backward_note)
    lengths = {name or ROOT: backward_length(module) for name, module in model.named_modules()}
    try:
        free = _run(model, subject, archive, expected, lengths, mode, force=False)
        forced = _run(model, subject, archive, expected, lengths, mode, force=True)
    except NoBackward as reason:
        text = f"recorded there, but here {reason}"
        return BackwardCheck(culprits=(Culprit(ROOT, "its backward pass", "missing", text, "not judged"),))
    return BackwardCheck(tuple(free), tuple(forced), _culprits(forced))


def _run(
    model: Any, subject: Subject, archive: GoldenArchive, expected: dict[str, EventRecord], lengths: dict[str, int],
    mode: str, force: bool,
) -> list[EventResult]:  # fmt: skip
    results: list[EventResult] = []
    coarse = coarse_products(archive.record, mode)
    values = {event.key: event for event in archive.record.events.get(mode, ())}

    def visit(event: Event, gradients: list[Any]) -> list[Any] | None:
        known = expected.get(event.key)
        if known is None or len(known.tensors) != len(gradients):
            return None
        longest = lengths.get(event.parent if event.phase.startswith(GRAD_OUT) else event.module, 1)
        if event.phase in (WEIGHTS, LOSS.phase):
            longest = max(longest, _positions(expected, event.module))
        before = 1 if force else len(results) + 1
        sums = Sums(longest, _STEPS * before, coarse)
        results.append(judged(event, _with_rounding(known, before, coarse), gradients, archive, sums))
        if force and event.phase.startswith((GRAD_IN, GRAD_OUT)):
            return [forced_tensor(one, ref, archive) for one, ref in zip(gradients, known.tensors, strict=True)]
        return None

    def inputs(event: Event, tensors: list[Any]) -> list[Any] | None:
        known = values.get(event.key)
        if not force or known is None or len(known.tensors) != len(tensors):
            return None
        return [forced_tensor(one, ref, archive) for one, ref in zip(tensors, known.tensors, strict=True)]

    run_backward(model, subject, visit, archive.record.depth, inputs)
    return results


def _with_rounding(known: EventRecord, before: int, coarse: float) -> EventRecord:
    """What roundings do to this gradient counts as noise: those of a few operations, of all before it in a free run."""
    factor = _STEPS * math.sqrt(before) * max(1.0, coarse / EPSILON["float32"])
    rounding = known.rounding or (0.0,) * len(known.tensors)
    noise = known.noise or (0.0,) * len(known.tensors)
    return replace(known, noise=tuple(a + factor * b for a, b in zip(noise, rounding, strict=True)))


def _positions(expected: dict[str, EventRecord], module: str) -> int:
    """How many terms the gradient of a parameter may add up: the elements of the module's output."""
    sizes = [1]
    for event in expected.values():
        if event.module == module and event.phase.startswith(GRAD_OUT):
            for ref in event.tensors:
                count = 1
                for size in ref.shape:
                    count *= size
                sizes.append(count)
    return max(sizes)


def _culprits(forced: list[EventResult]) -> tuple[Culprit, ...]:
    """Each module once: what is wrong behind it was given the recorded gradients."""
    called = {one.event.module for one in forced}
    found: dict[str, Culprit] = {}
    for one in forced:
        if one.ok or one.event.phase == LOSS.phase:
            continue
        phase = one.event.phase
        inside = phase.startswith(GRAD_OUT) or phase == INPUTS
        module = caller_of(one.event, called) if inside else one.event.module
        where = f"its backward pass, before it reaches {one.event.module}" if inside else f"its backward pass ({phase})"
        diagnosis = one.diagnosis or Diagnosis("noise", "")
        found.setdefault(module, Culprit(module, where, diagnosis.kind, diagnosis.text, "not judged"))
    return tuple(found.values())
