"""Records what a model computes: inputs, every module's inputs and outputs, and how much identical runs vary."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.verify.golden.archive import (
    EventRecord,
    GoldenRecord,
    TensorRef,
    as_dtype,
    storable,
    write_record,
)
from kernel_pytorch.verify.golden.numeric_settings import (
    MODES,
    described_machine,
    described_settings,
    numeric_settings,
)
from kernel_pytorch.verify.golden.observe import ROOT, Event, flat_tensors, observed


@dataclass(frozen=True)
class RecordOptions:
    """`depth` of the module tree (None: all), identical `repeats`, limits of size, and what else goes along."""

    depth: int | None = None
    repeats: int = 10
    max_mb: float = 1024.0
    max_tensor_mb: float = 64.0
    modes: tuple[str, ...] = MODES
    save_weights: bool = False
    backward: bool = True


class Store:
    """Tensors by the hash of their content, so that what one module gives and the next takes is kept once."""

    def __init__(self, options: RecordOptions) -> None:
        self.tensors: dict[str, Any] = {}
        self.dropped: list[str] = []
        self._left = int(options.max_mb * 2**20)
        self._largest = int(options.max_tensor_mb * 2**20)

    def put(self, tensor: Any, where: str, whole: bool = False, needed: bool = False) -> TensorRef | None:
        """Keep a tensor (or every n-th element of one too large). None, and noted, when there is no room left.

        What is `needed` is kept even then.
        """
        plain = tensor.detach().to("cpu")
        size = plain.numel() * plain.element_size()
        stride = 1 if whole or size <= self._largest else -(-size // self._largest)
        kept = storable(plain if stride == 1 else plain.reshape(-1)[::stride])
        key = content_hash(kept)
        if key not in self.tensors:
            taken = kept.numel() * kept.element_size()
            if taken > self._left and not needed:
                if whole:
                    raise UsageError(f"{where}: {size / 2**20:.1f} MB do not fit in the record: raise --max-mb")
                self.dropped.append(where)
                return None
            self._left -= taken
            self.tensors[key] = kept.clone()
        return TensorRef(key, str(plain.dtype).removeprefix("torch."), tuple(plain.shape), stride)


def record(
    subject: Subject,
    folder: Path,
    options: RecordOptions = RecordOptions(),
    progress: Callable[[str], None] = lambda text: None,
) -> GoldenRecord:
    """Run the subject and write what it computed to `folder`. Raises UsageError when it cannot be recorded."""
    import torch

    from kernel_pytorch.verify.golden.record_backward import record_backward

    store = Store(options)
    inputs = []
    for index, tensor in enumerate(flat_tensors((subject.args, subject.kwargs))):
        ref = store.put(tensor, f"input {index}", whole=True)
        assert ref is not None
        inputs.append(ref)
    model = as_module(subject)
    device = device_of(model, subject)
    events: dict[str, tuple[EventRecord, ...]] = {}
    settings = {}
    with torch.no_grad():
        for mode in options.modes:
            with numeric_settings(mode):
                settings[mode] = described_settings()
                progress(f"{mode}: recording")
                first = _observed_run(model, subject, options.depth, store, mode)
                noise = _noise(model, subject, options, first, store, partial(_counted, progress, mode))
            events[mode] = tuple(EventRecord(e.module, e.call, e.phase, e.tensors, tuple(noise[e.key])) for e in first)
    backward, note = record_backward(model, subject, options, store, events, progress)
    weights = {name: value for name, value in _state(model).items() if isinstance(value, torch.Tensor)}
    result = GoldenRecord(
        target=subject.name,
        machine=described_machine(device),
        settings=settings,
        inputs=tuple(inputs),
        weights={name: content_hash(storable(value.detach().to("cpu"))) for name, value in weights.items()},
        events=events,
        depth=options.depth,
        repeats=options.repeats,
        dropped=tuple(store.dropped),
        backward=backward,
        backward_note=note,
    )
    saved = (
        {name: value.detach().to("cpu").clone() for name, value in weights.items()} if options.save_weights else None
    )
    write_record(folder, result, store.tensors, saved)
    return result


def _counted(progress: Callable[[str], None], mode: str, number: int) -> None:
    progress(f"{mode}: run {number}")


def as_module(subject: Subject) -> Any:
    """The subject as a module tree; a plain function becomes a tree of one."""
    import torch

    if isinstance(subject.function, torch.nn.Module):
        return subject.function

    class _Function(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return subject.function(*args, **kwargs)

    return _Function()


def device_of(model: Any, subject: Subject) -> Any:
    """Where the model computes: the device of its first parameter, else of its first input."""
    import torch

    for tensor in (*model.parameters(), *flat_tensors((subject.args, subject.kwargs))):
        return tensor.device
    return torch.device("cpu")


def content_hash(tensor: Any) -> str:
    """A hash of a CPU tensor's bytes, its type and its shape."""
    import torch

    digest = hashlib.sha256(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    flat = tensor.contiguous().reshape(-1)
    # view(uint8) refuses an empty tensor of some types, whose hash is that of its type and shape.
    digest.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return digest.hexdigest()[:32]


def _state(model: Any) -> dict[str, Any]:
    state: dict[str, Any] = model.state_dict()
    return state


def _observed_run(model: Any, subject: Subject, depth: int | None, store: Store, mode: str) -> list[EventRecord]:
    seen: list[EventRecord] = []

    def visit(event: Event, tensors: list[Any]) -> None:
        # The end result comes last and is what a check cannot do without.
        is_result = event.module == ROOT and event.phase == "out"
        refs = [store.put(tensor, f"{mode} {event.key}", needed=is_result) for tensor in tensors]
        if all(ref is not None for ref in refs):
            kept = tuple(ref for ref in refs if ref is not None)
            seen.append(EventRecord(event.module, event.call, event.phase, kept))

    with observed(model, visit, depth):
        run_like(model, subject)
    if not any(event.module == ROOT and event.phase == "out" and event.tensors for event in seen):
        raise UsageError(f"{subject.name}: its output holds no tensor: nothing to compare")
    return seen


def run_like(model: Any, subject: Subject) -> Any:
    """One forward pass that starts from the same random state each time."""
    import torch

    torch.manual_seed(0)
    return model(*subject.args, **subject.kwargs)


def _noise(
    model: Any,
    subject: Subject,
    options: RecordOptions,
    first: list[EventRecord],
    store: Store,
    progress: Callable[[int], None],
) -> dict[str, list[float]]:
    """The largest norm-wise difference to the first run over all repeats, by event and tensor."""
    worst = {event.key: [0.0] * len(event.tensors) for event in first}
    by_key = {event.key: event for event in first}

    def visit(event: Event, tensors: list[Any]) -> None:
        known = by_key.get(event.key)
        if known is None:
            return
        for index, (ref, tensor) in enumerate(zip(known.tensors, tensors, strict=False)):
            value = relative_error(kept_part(tensor, ref.stride), store.tensors[ref.id], ref)
            worst[event.key][index] = max(worst[event.key][index], value)

    for number in range(2, options.repeats + 1):
        progress(number)
        with observed(model, visit, options.depth):
            run_like(model, subject)
    return worst


def kept_part(tensor: Any, stride: int) -> Any:
    """The elements of a tensor that a record with this stride keeps."""
    plain = tensor.detach().to("cpu")
    return plain if stride == 1 else plain.reshape(-1)[::stride]


def relative_error(here: Any, stored: Any, ref: TensorRef) -> float:
    """Norm of the difference over the norm of what is stored; 0 for equal bits."""
    reference = as_dtype(stored, ref.dtype)
    left, right = as_double(here).reshape(-1), as_double(reference).reshape(-1)
    if left.shape != right.shape:
        return float("inf")
    if bool((left == right).all()):
        return 0.0
    norm = float(right.norm())
    error = float((left - right).norm())
    return error / norm if norm else error


def as_double(tensor: Any) -> Any:
    """Any tensor as float64 (complex as pairs), NaN and infinities kept."""
    import torch

    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if str(tensor.dtype).startswith("torch.float8"):
        tensor = tensor.float()
    return tensor.double()
