"""The largest batch that fits, found by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import ROCmMemoryError
from kernel_pytorch.models.memory import is_out_of_memory, release_unused

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class BatchFit:
    """The largest batch size that ran, and every size tried with whether it fitted."""

    batch_size: int
    tried: tuple[tuple[int, bool], ...]


def find_batch_size(
    step: Callable[[int], object], largest: int, smallest: int = 1, *, device: torch.device
) -> BatchFit:
    """Call `step(batch_size)` with sizes from `largest` down, by bisection, until the largest that fits is known.

    `step` runs out of memory by raising; any other exception ends the search and is the caller's. Raises
    ROCmMemoryError when not even `smallest` fits.
    """
    if not 1 <= smallest <= largest:
        raise ValueError(f"smallest={smallest}, largest={largest}: expected 1 <= smallest <= largest")
    tried: list[tuple[int, bool]] = []

    def fits(size: int) -> bool:
        reason = _attempt(step, size)
        if reason is not None:
            # Only here, after the except block: an exception in flight keeps every frame, and every tensor, alive.
            release_unused(device)
        tried.append((size, reason is None))
        return reason is None

    if fits(largest):
        return BatchFit(largest, tuple(tried))
    if smallest == largest or not fits(smallest):
        raise ROCmMemoryError(
            "find_batch_size",
            details={"tried": tried, "smallest": smallest},
            reason=f"a batch of {smallest} does not fit on {device}",
        )
    fitting, failing = smallest, largest
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if fits(middle):
            fitting = middle
        else:
            failing = middle
    return BatchFit(fitting, tuple(tried))


def _attempt(step: Callable[[int], object], size: int) -> str | None:
    """None if the step ran, else how it ran out of memory. The result is dropped: it would count against the next."""
    try:
        step(size)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return str(error)
    return None
