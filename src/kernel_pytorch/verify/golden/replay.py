"""What a replay says of one event, and whom it blames; shared by the forward and the backward replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_pytorch.verify.golden.archive import EventRecord, GoldenArchive, TensorRef
from kernel_pytorch.verify.golden.diagnose import Diagnosis
from kernel_pytorch.verify.golden.observe import ROOT, Event
from kernel_pytorch.verify.golden.record import kept_part
from kernel_pytorch.verify.golden.tensor_comparison import TensorComparison, compare_tensor
from kernel_pytorch.verify.golden.tolerance import Sums


@dataclass(frozen=True)
class EventResult:
    """One event here against the record: the worst of its tensors."""

    event: Event
    error: float  # norm-wise
    limit: float
    ok: bool
    diagnosis: Diagnosis | None = None
    referee: str = ""
    dtype: str = ""


@dataclass(frozen=True)
class Culprit:
    """A place where this machine and the record part although they started from the same inputs.

    `follows` names the module whose wrong output this code went on with: what differs here may come from there.
    """

    module: str
    where: str
    kind: str
    text: str
    side: str  # what the referee says
    follows: str = ""


def forced_tensor(tensor: Any, ref: TensorRef, archive: GoldenArchive) -> Any:
    """The recorded tensor in the place of one; a tensor that was sampled, or has another shape, stays."""
    if not ref.whole or tuple(tensor.shape) != ref.shape:
        return tensor
    recorded = archive.tensor(ref).clone()  # a module may work in place, and the archive's memory is the file's
    return recorded.to(device=tensor.device, dtype=tensor.dtype if tensor.is_floating_point() else recorded.dtype)


def judged(
    event: Event,
    known: EventRecord,
    tensors: list[Any],
    archive: GoldenArchive,
    sums: Sums,
    same_inputs: bool = False,
) -> EventResult:
    """The worst of an event's tensors against the record. `same_inputs`: its code worked on the recorded inputs."""
    worst: TensorComparison | None = None
    for index, (ref, tensor) in enumerate(zip(known.tensors, tensors, strict=True)):
        noise = known.noise[index] if index < len(known.noise) else 0.0
        one = compare_tensor(kept_part(tensor, ref.stride), archive.tensor(ref), ref, noise, sums, same_inputs)
        if worst is None or (worst.ok, -worst.severity) > (one.ok, -one.severity):
            worst = one
    if worst is None:
        return EventResult(event, 0.0, 0.0, True)
    return EventResult(event, worst.error, worst.limit, worst.ok, worst.diagnosis, dtype=worst.dtype)


def caller_of(event: Event, called: set[str]) -> str:
    """The module whose code makes a call: a list of modules is on the way to it and has no code of its own."""
    module = event.parent
    while module != ROOT and module not in called:
        module = module.rpartition(".")[0] or ROOT
    return module
