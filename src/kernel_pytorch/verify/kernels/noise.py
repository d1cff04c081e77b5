"""How much identical runs of a program differ, buffer by buffer: a part of every tolerance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernel_pytorch.verify.kernels.contents import best_type, relative_error
from kernel_pytorch.verify.kernels.record import BufferState, KernelRecord, LaunchRecord


def with_noise(first: KernelRecord, first_raw: Path, again: KernelRecord, again_raw: Path) -> KernelRecord:
    """The first record with the largest difference to another run noted. Other launches: said, and not measured."""
    if [one.symbol for one in first.launches] != [one.symbol for one in again.launches]:
        return replace(first, note="identical runs launch different kernels: the noise was not measured")
    launches = tuple(
        replace(one, buffers=tuple(_measured(one, state, first_raw, other, again_raw) for state in one.buffers))
        for one, other in zip(first.launches, again.launches, strict=True)
    )
    return replace(first, launches=launches)


def _measured(launch: LaunchRecord, state: BufferState, raw: Path, other: LaunchRecord, other_raw: Path) -> BufferState:
    twin = next((one for one in other.buffers if one.buffer == state.buffer and one.bytes == state.bytes), None)
    if twin is None or twin.after == state.after or not (state.has_after and twin.has_after):
        return state
    left = (raw / f"{state.after}.bin").read_bytes()
    right = (other_raw / f"{twin.after}.bin").read_bytes()
    found = relative_error(right, left, best_type(launch, state.buffer, left, right))
    return replace(state, noise=max(state.noise, found))
