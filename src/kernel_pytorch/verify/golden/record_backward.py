"""Records the backward pass: loss and gradients, how much identical runs vary, and what one rounding does to them.

A gradient can be a small difference of large terms, so that the same rounding moves one by a millionth and another by a
tenth. How much is measured: every module once gets its recorded inputs and gradients with a random part of one rounding
added, and the change of what comes out is kept as the tolerance of that gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.verify.golden.archive import EventRecord, TensorRef, as_dtype
from kernel_pytorch.verify.golden.backward import GRAD_IN, GRAD_OUT, LOSS, NoBackward, Visit, run_backward
from kernel_pytorch.verify.golden.numeric_settings import numeric_settings
from kernel_pytorch.verify.golden.observe import Event
from kernel_pytorch.verify.golden.record import RecordOptions, Store, kept_part, relative_error
from kernel_pytorch.verify.golden.tolerance import EPSILON

Events = dict[str, tuple[EventRecord, ...]]


def record_backward(
    model: Any, subject: Subject, options: RecordOptions, store: Store, forward: Events, progress: Callable[[str], None]
) -> tuple[Events, str]:
    """Loss and gradients by mode; none, and why, where the model has no backward pass."""
    found: Events = {}
    for mode in options.modes if options.backward else ():
        with numeric_settings(mode):
            try:
                progress(f"{mode}: backward")
                first = _first(model, subject, options, store, mode)
                noise: dict[str, list[float]] = {}
                for _ in range(1, options.repeats):
                    run_backward(model, subject, _measured(first, store, noise), options.depth)
                rounding = _rounding(model, subject, options, store, first, forward[mode])
            except NoBackward as reason:
                return {}, str(reason)
        found[mode] = tuple(
            replace(event, noise=tuple(noise.get(key, ())), rounding=tuple(rounding.get(key, ())))
            for key, event in first.items()
        )
    return found, ""


def _first(model: Any, subject: Subject, options: RecordOptions, store: Store, mode: str) -> dict[str, EventRecord]:
    seen: dict[str, EventRecord] = {}

    def keep(event: Event, gradients: list[Any]) -> None:
        refs = [store.put(gradient, f"{mode} {event.key}", needed=event == LOSS) for gradient in gradients]
        if event.key not in seen and all(ref is not None for ref in refs):
            kept = tuple(ref for ref in refs if ref is not None)
            seen[event.key] = EventRecord(event.module, event.call, event.phase, kept)

    run_backward(model, subject, keep, options.depth)
    return seen


def _measured(first: dict[str, EventRecord], store: Store, worst: dict[str, list[float]]) -> Visit:
    """Looks at gradients and keeps the largest difference to the first run."""

    def visit(event: Event, gradients: list[Any]) -> None:
        known = first.get(event.key)
        if known is None:
            return
        errors = worst.setdefault(event.key, [0.0] * len(known.tensors))
        for index, (ref, gradient) in enumerate(zip(known.tensors, gradients, strict=False)):
            error = relative_error(kept_part(gradient, ref.stride), store.tensors[ref.id], ref)
            errors[index] = max(errors[index], error)

    return visit


def _rounding(
    model: Any, subject: Subject, options: RecordOptions, store: Store, first: dict[str, EventRecord],
    forward: tuple[EventRecord, ...],
) -> dict[str, list[float]]:  # fmt: skip
    """One run in which every module gets what was recorded, off by a random part of a rounding."""
    import torch

    worst: dict[str, list[float]] = {}
    measure = _measured(first, store, worst)
    values = {event.key: event for event in forward}
    random = torch.Generator().manual_seed(0)

    def recorded(tensor: Any, ref: TensorRef, jitter: bool) -> Any:
        if not ref.whole or tuple(tensor.shape) != ref.shape or not tensor.is_floating_point():
            return tensor
        stored = as_dtype(store.tensors[ref.id], ref.dtype).reshape(ref.shape).double()
        if jitter:
            part = torch.rand(ref.shape, generator=random, dtype=torch.float64) - 0.5
            stored = stored * (1.0 + EPSILON.get(ref.dtype, 0.0) * part)
        return stored.to(device=tensor.device, dtype=tensor.dtype)

    def visit(event: Event, gradients: list[Any]) -> list[Any] | None:
        measure(event, gradients)
        known = first.get(event.key)
        if known is None or not event.phase.startswith((GRAD_IN, GRAD_OUT)):
            return None
        is_given = event.phase.startswith(GRAD_OUT)
        return [recorded(one, ref, is_given) for one, ref in zip(gradients, known.tensors, strict=True)]

    def inputs(event: Event, tensors: list[Any]) -> list[Any] | None:
        known = values.get(event.key)
        if known is None or len(known.tensors) != len(tensors):
            return None
        return [recorded(one, ref, True) for one, ref in zip(tensors, known.tensors, strict=True)]

    run_backward(model, subject, visit, options.depth, inputs)
    return worst
