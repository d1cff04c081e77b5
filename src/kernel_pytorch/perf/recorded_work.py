"""Which row of the table of operators an activity belongs to, and how much work one call of that row is.

Mostly a row is an operator with its shapes. A kernel is a row of its own where it has no operator, where its operator
launches whatever it is asked to (a compiled region), and where it tells more than its operator does (the products of a
mixture of experts). Attention over a paged cache needs the lengths of the sequences, which the serving engine writes
next to the step.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.classify.attribution import Attribution
from kernel_pytorch.perf.classify.classifier import launches_anything
from kernel_pytorch.perf.roofline.forms import HostCopy
from kernel_pytorch.perf.roofline.paged import Batch, batch_of, is_paged, paged_attention
from kernel_pytorch.perf.roofline.routed import is_routed, kernel_work
from kernel_pytorch.perf.roofline.work import Work, work_of
from kernel_pytorch.perf.trace.linking import Links, enclosing
from kernel_pytorch.perf.trace.recording import NONE, HostSpans, Recording, Signature

_OVER_THE_LINK = re.compile(r"Memcpy (HtoD|DtoH)")
_OPAQUE_SIZE = re.compile(r"OpaqueType<(\d)u?>")


class Row(NamedTuple):
    """Numbers of a signature, a kernel (NONE where the operator alone counts), a grid, a category and a batch."""

    signature: int
    kernel: int
    grid: int
    category: int
    batch: int


class RecordedRows:
    """The rows of one recording. `windows` are those of the model's layers, see windows.py."""

    def __init__(
        self, recording: Recording, links: Links, attribution: Attribution, windows: Sequence[int | None] = ()
    ) -> None:
        self._recording, self._links, self._attribution = recording, links, attribution
        self._batches: list[Batch] = []
        self._notes: list[int] = []
        self._batch_of_call = self._find_batches()
        self._alone: dict[int, bool] = {}
        self._paged: dict[int, bool] = {}
        self._kernels: dict[int, set[tuple[str, str]]] = defaultdict(set)
        self._first: dict[Row, int] = {}
        self._windowed = self._find_windows(windows) if any(windows) else {}
        for i in attribution.order:
            signature = self._signature(i)
            if signature != NONE and self._is_alone(signature):
                grid = recording.activities.launch[i]
                name = recording.strings[recording.activities.name[i]]
                self._kernels[signature].add((name, recording.strings[grid] if grid != NONE else ""))

    def row(self, activity: int) -> Row:
        """The row an activity belongs to."""
        recording = self._recording
        signature = self._signature(activity)
        alone = signature == NONE or self._is_alone(signature)
        kernel = recording.activities.name[activity] if alone else NONE
        grid = recording.activities.launch[activity] if alone and signature != NONE else NONE
        batch = NONE
        if signature != NONE and self._is_paged(signature):
            batch = self._batch(activity)
            batch = self._windowed.get((self._links.operator[activity], batch), batch)
        row = Row(signature, kernel, grid, self._attribution.category[activity], batch)
        self._first.setdefault(row, recording.activities.name[activity])
        return row

    def work(self, row: Row) -> Work | None:
        """The work of one call; None where it is not known."""
        if row.signature == NONE:
            return None
        recording = self._recording
        signature, kernel = recording.signatures[row.signature], recording.strings[self._first[row]]
        if row.kernel != NONE:
            grid = recording.strings[row.grid] if row.grid != NONE else ""
            return kernel_work(signature, kernel, grid, self._kernels[row.signature])
        if self._is_paged(row.signature):
            return paged_attention(signature, self._batches[row.batch] if row.batch != NONE else None)
        return kernel_aware_work(signature, kernel)

    def window(self, row: Row) -> int | None:
        """The window of attention that the row's layers have, where the model's configuration tells."""
        return self._batches[row.batch].window if row.batch != NONE else None

    def _signature(self, activity: int) -> int:
        operator = self._links.operator[activity]
        return self._recording.operators.label[operator] if operator != NONE else NONE

    def _is_alone(self, signature: int) -> bool:
        found = self._alone.get(signature)
        if found is None:
            one = self._recording.signatures[signature]
            found = self._alone[signature] = launches_anything(one.name) or is_routed(one)
        return found

    def _is_paged(self, signature: int) -> bool:
        found = self._paged.get(signature)
        if found is None:
            found = self._paged[signature] = is_paged(self._recording.signatures[signature].name)
        return found

    def _batch(self, activity: int) -> int:
        call = self._links.call[activity]
        return self._batch_of_call[call] if call != NONE and self._batch_of_call else NONE

    def _find_windows(self, windows: Sequence[int | None]) -> dict[tuple[int, int], int]:
        """For each call of paged attention in a layer with a window, and its batch: the batch as that layer sees it.

        The calls of a step are the layers in their order; a step that was recorded in part stays as it is.
        """
        recording, links = self._recording, self._links
        calls: dict[int, dict[int, None]] = defaultdict(dict)
        for i in self._attribution.order:
            signature, batch = self._signature(i), self._batch(i)
            if batch != NONE and signature != NONE and self._is_paged(signature):
                calls[batch][links.operator[i]] = None
        found: dict[tuple[int, int], int] = {}
        whole = {batch: list(those) for batch, those in calls.items() if len(those) % len(windows) == 0}
        if calls and not whole:
            counts = sorted({len(those) for those in calls.values()})
            raise UsageError(
                f"the model's configuration has {len(windows)} layers, the recorded steps have "
                f"{' or '.join(map(str, counts))} calls of attention: is it another model's?"
            )
        for batch, operators in whole.items():
            seen: dict[int, int] = {}
            for layer, operator in enumerate(operators):
                window = windows[layer % len(windows)]
                if window is not None and window not in seen:
                    narrowed = batch_of(recording.strings[self._notes[batch]], window)
                    seen[window] = len(self._batches)
                    self._batches.append(narrowed or self._batches[batch])
                if window is not None:
                    found[operator, batch] = seen[window]
        return found

    def _find_batches(self) -> list[int]:
        """For each call the batch that was being worked on."""
        recording = self._recording
        notes, steps = recording.annotations, HostSpans()
        for i in range(len(notes)):
            batch = batch_of(recording.strings[notes.label[i]])
            if batch is not None:
                steps.add(notes.start[i], notes.end[i], notes.thread[i], len(self._batches), NONE)
                self._batches.append(batch)
                self._notes.append(notes.label[i])
        if not self._batches:
            return []
        return [steps.label[one] if one != NONE else NONE for one in enclosing(recording.calls, steps)]


def kernel_aware_work(signature: Signature, kernel: str) -> Work | None:
    """The work of an operator whose first kernel is known: its name tells copies over the link, and sizes of types."""
    work = work_of(_with_element_size(signature, kernel))
    over_the_link = _OVER_THE_LINK.match(kernel)
    if work is not None and over_the_link:
        return replace(work, form=HostCopy(over_the_link[1] == "HtoD", pinned="Pinned" in kernel))
    return work


def _with_element_size(signature: Signature, kernel: str) -> Signature:
    """The type of tensors in a list is not recorded; the kernel that copies them is named after their size."""
    found = _OPAQUE_SIZE.search(kernel)
    if found is None or "TensorList" not in signature.types:
        return signature
    types = tuple(f"TensorList:{found[1]}" if kind == "TensorList" else kind for kind in signature.types)
    return replace(signature, types=types)
