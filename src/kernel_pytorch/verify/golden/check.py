"""Replays a recorded model here and says where, how and on which side it differs.

Two passes. The free one runs the model as it is: its errors pile up with depth, as a user sees them. The forced one
gives every module the recorded inputs: what differs then is the fault of that module alone, or of the code that
called it. A third, in float64 on the CPU and forced the same way, is the referee. Then the backward pass, free and
forced, where the record has one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.check.systematic import NARROW
from kernel_pytorch.verify.golden.archive import EventRecord, GoldenArchive
from kernel_pytorch.verify.golden.check_backward import BackwardCheck, check_backward
from kernel_pytorch.verify.golden.diagnose import Diagnosis
from kernel_pytorch.verify.golden.numeric_settings import described_machine, numeric_settings
from kernel_pytorch.verify.golden.observe import ROOT, Event, observed
from kernel_pytorch.verify.golden.record import (
    as_double,
    as_module,
    content_hash,
    device_of,
    kept_part,
    run_like,
)
from kernel_pytorch.verify.golden.replay import Culprit, EventResult, caller_of, forced_tensor, judged
from kernel_pytorch.verify.golden.tolerance import Sums, coarse_products, reduction_length
from kernel_pytorch.verify.golden.unlike_in_precision import unlike_in_precision

REFEREE_LIMIT_GB = 16.0


@dataclass(frozen=True)
class Distances:
    """How far an event's tensors are off float64, in the record and here; None where it was not taken."""

    recorded: float | None
    here: float | None


@dataclass(frozen=True)
class GoldenCheck:
    """The outcome of a check in one mode."""

    mode: str
    target: str
    recorded_on: dict[str, str]
    checked_on: dict[str, str]
    free: tuple[EventResult, ...]
    forced: tuple[EventResult, ...]
    culprits: tuple[Culprit, ...]
    missing: tuple[str, ...] = ()
    referee_note: str = ""
    backward: BackwardCheck = BackwardCheck()  # noqa: RUF009 (frozen)

    @property
    def output(self) -> EventResult | None:
        """The model's own output in the free pass."""
        ends = [one for one in self.free if one.event.module == ROOT and one.event.phase == "out"]
        return ends[-1] if ends else None

    @property
    def ok(self) -> bool:
        same = self.output is not None and self.output.ok and self.backward.ok
        return same and not self.culprits and not self.missing


def check(
    subject: Subject,
    archive: GoldenArchive,
    mode: str,
    *,
    use_referee: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> GoldenCheck:
    """Replay in one mode. Raises UsageError where the comparison would mean nothing: other weights, other inputs."""
    import torch

    record = archive.record
    if mode not in record.events:
        raise UsageError(f"{archive.folder}: holds no {mode} record; it has: {', '.join(record.events)}")
    model = as_module(subject)
    device = device_of(model, subject)
    check_weights(model, archive)
    replayed = with_recorded_inputs(subject, archive, device)
    expected = {event.key: event for event in record.events[mode]}
    lengths = {name or ROOT: reduction_length(module) for name, module in model.named_modules()}
    with torch.no_grad(), numeric_settings(mode):
        progress("free run")
        free = _run(model, replayed, archive, expected, lengths, mode, force=False)
        progress("forced run")
        narrow: dict[str, list[Any]] = {}
        forced = _run(model, replayed, archive, expected, lengths, mode, force=True, narrow=narrow)
        progress("backward")
        backward = check_backward(model, replayed, archive, mode)
    note = ""
    truth: dict[str, Distances] = {}
    # Of 16-bit results only float64 can tell how much of a difference is rounding.
    if use_referee and any(not one.ok or one.dtype in NARROW for one in forced):
        progress("referee in float64")
        note, truth = _referee(model, replayed, archive, expected, record.depth, narrow)
        forced = [_with_precision(one, truth) for one in forced]
    culprits = _culprits(forced, truth)
    blamed = {culprit.module for culprit in culprits}  # a wrong forward pass has a wrong backward pass
    culprits += tuple(culprit for culprit in backward.culprits if culprit.module not in blamed)
    seen = {one.event.key for one in free}
    missing = tuple(key for key in expected if key not in seen)
    machine = described_machine(device)
    return GoldenCheck(
        mode, record.target, record.machine, machine, tuple(free), tuple(forced), culprits, missing, note, backward
    )


def check_weights(model: Any, archive: GoldenArchive) -> None:
    """Load recorded weights where the record has them; otherwise they must be the same. Raises UsageError."""
    import torch

    saved = archive.weights()
    if saved:
        missing, unexpected = model.load_state_dict(saved, strict=False)
        if missing or unexpected:
            raise UsageError(
                f"{archive.folder}: its weights do not fit the model (first: {[*missing, *unexpected][0]})"
            )
        return
    state = {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
    recorded = archive.record.weights
    for name in sorted(recorded.keys() ^ state.keys()):
        side = "the record" if name in recorded else "the model here"
        raise UsageError(f"{name}: only {side} has this weight; record and model are not of the same code")
    from kernel_pytorch.verify.golden.archive import storable

    for name, value in state.items():
        if content_hash(storable(value.detach().to("cpu"))) != recorded[name]:
            raise UsageError(
                f"{name}: this weight is not the recorded one. Build the model from the same seed on the CPU, or "
                "record with --weights so that the weights travel with the record"
            )


def with_recorded_inputs(subject: Subject, archive: GoldenArchive, device: Any) -> Subject:
    """The subject with the record's inputs in place of its own. Raises UsageError when they do not fit."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, shape = tree_flatten((subject.args, subject.kwargs))
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    refs = archive.record.inputs
    if len(places) != len(refs):
        raise UsageError(f"{subject.name} takes {counted(len(places), 'tensor')} here, the record has {len(refs)}")
    for index, ref in zip(places, refs, strict=True):
        if tuple(leaves[index].shape) != ref.shape:
            raise UsageError(f"input {index}: {list(leaves[index].shape)} here, {list(ref.shape)} in the record")
        leaves[index] = archive.tensor(ref).to(leaves[index].device)
    args, kwargs = tree_unflatten(leaves, shape)
    return Subject(subject.name, subject.function, tuple(args), dict(kwargs))


def _run(
    model: Any,
    subject: Subject,
    archive: GoldenArchive,
    expected: dict[str, EventRecord],
    lengths: dict[str, int],
    mode: str,
    force: bool,
    narrow: dict[str, list[Any]] | None = None,
) -> list[EventResult]:
    """`narrow` is filled with the 16-bit tensors of this machine, as parts as the record has, for the referee."""
    results: list[EventResult] = []
    own_inputs: set[str] = set()  # modules that a recorded input could not be given to: the record has a sample of it
    coarse = coarse_products(archive.record, mode)

    def visit(event: Event, tensors: list[Any]) -> list[Any] | None:
        known = expected.get(event.key)
        if known is None or len(known.tensors) != len(tensors):
            return None
        # What reaches a module was made by its caller's code, so the caller's sums count.
        owner = event.module if event.phase == "out" else event.parent
        steps = 1 if force else len(results) + 1
        sums = Sums(lengths.get(owner, 1), steps, coarse)
        results.append(judged(event, known, tensors, archive, sums, same_inputs=force and owner not in own_inputs))
        if narrow is not None and results[-1].dtype in NARROW:
            narrow[event.key] = [
                kept_part(tensor, ref.stride).cpu() for tensor, ref in zip(tensors, known.tensors, strict=True)
            ]
        if force and event.phase == "in":
            if not all(ref.whole for ref in known.tensors):
                own_inputs.add(event.module)
            return [forced_tensor(tensor, ref, archive) for tensor, ref in zip(tensors, known.tensors, strict=True)]
        return None

    with observed(model, visit, archive.record.depth):
        run_like(model, subject)
    return results


def _referee(
    model: Any,
    subject: Subject,
    archive: GoldenArchive,
    expected: dict[str, EventRecord],
    depth: int | None,
    narrow: dict[str, list[Any]],
) -> tuple[str, dict[str, Distances]]:
    """How far either side is from float64, for every event. Empty, with a reason, where it cannot run."""
    import torch
    from torch.utils._pytree import tree_map

    size = sum(parameter.numel() for parameter in model.parameters()) * 8 / 2**30
    if size > REFEREE_LIMIT_GB:
        return f"no referee: the model would take {size:.0f} GB in float64", {}
    found: dict[str, Distances] = {}

    def widen(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = value.cpu()
        return value.double() if value.is_floating_point() else value

    def visit(event: Event, tensors: list[Any]) -> list[Any] | None:
        known = expected.get(event.key)
        if known is None or len(known.tensors) != len(tensors):
            return None
        if known.tensors:
            recorded = [archive.tensor(ref) for ref in known.tensors]
            here = narrow.get(event.key)
            parts = [kept_part(tensor, ref.stride) for tensor, ref in zip(tensors, known.tensors, strict=True)]
            found[event.key] = Distances(_distance(parts, recorded), _distance(parts, here) if here else None)
        if event.phase == "in":
            pairs = zip(tensors, known.tensors, strict=True)
            return [widen(forced_tensor(tensor, ref, archive)) for tensor, ref in pairs]
        return None

    try:
        twin = copy.deepcopy(model).cpu().double()
        args, kwargs = tree_map(widen, (subject.args, subject.kwargs))
        with torch.no_grad(), observed(twin, visit, depth):
            run_like(twin, Subject(subject.name, twin, args, kwargs))
    except Exception as error:  # any model code may refuse float64 or the CPU; the check goes on without a referee
        return f"no referee: the model does not run in float64 on the CPU ({type(error).__name__}: {error})", found
    return "", found


def _with_precision(one: EventResult, truth: dict[str, Distances]) -> EventResult:
    """The result, not ok where one side is much less precise than the other."""
    known = truth.get(one.event.key)
    if not one.ok or known is None or known.here is None or known.recorded is None:
        return one
    diagnosis = unlike_in_precision(known.here, known.recorded, one.dtype)
    return one if diagnosis is None else replace(one, ok=False, diagnosis=diagnosis)


def _distance(truth: list[Any], values: list[Any]) -> float | None:
    """Norm-wise, of the tensor that is furthest off."""
    errors = []
    for one, other in zip(truth, values, strict=True):
        exact, rounded = as_double(one).reshape(-1), as_double(other).reshape(-1)
        if exact.shape == rounded.shape:
            errors.append(float((exact - rounded).norm()) / (float(exact.norm()) or 1.0))
    return max(error if math.isfinite(error) else math.inf for error in errors) if errors else None


def _culprits(forced: list[EventResult], truth: dict[str, Distances]) -> tuple[Culprit, ...]:
    found: list[Culprit] = []
    last_good = "the start"
    called = {one.event.module for one in forced}
    wrong_inside: dict[str, str] = {}  # module whose code got a wrong output -> of which module
    for one in forced:
        is_output = one.event.phase == "out"
        caller = caller_of(one.event, called)
        module = one.event.module if is_output else caller
        if not is_output:
            wrong_inside.pop(one.event.module, None)  # a new call, from the recorded inputs
        if one.ok:
            last_good = f"{one.event.module} ({'output' if is_output else 'inputs'})"
            continue
        follows = wrong_inside.get(module, "")
        if is_output and caller != one.event.module:
            wrong_inside[caller] = follows or one.event.module
        inside = "its own code" if is_output else f"its code before it calls {one.event.module}"
        diagnosis = one.diagnosis or Diagnosis("noise", "")
        known = truth.get(one.event.key)
        side = _side(one, known.recorded if known else None)
        found.append(Culprit(module, f"{inside}, after {last_good}", diagnosis.kind, diagnosis.text, side, follows))
    return tuple(sorted(found, key=lambda culprit: bool(culprit.follows)))


def _side(result: EventResult, distance: float | None) -> str:
    """The referee runs this machine's code: far from the record the codes differ, near it this machine is off."""
    if distance is None:
        return "not judged"
    if result.diagnosis is not None and result.diagnosis.kind == "precision":
        return "see its distances from float64"
    if distance <= 2 * result.limit:
        return "this machine is off: the code, run in float64, gives what was recorded"
    if distance >= 0.5 * result.error:
        return "the codes differ: the code here, run in float64, does not give what was recorded"
    return "between the two: a loss of precision"
