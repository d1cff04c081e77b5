"""Which launch of one record is which launch of the other: by name, then by name without template arguments, then by
place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kernel_pytorch.verify.kernels.names import base_key, full_key
from kernel_pytorch.verify.kernels.record import LaunchRecord


@dataclass(frozen=True)
class Pair:
    """A launch of the reference and its twin here; one of them is None where there is no twin."""

    reference: LaunchRecord | None
    here: LaunchRecord | None
    by: str = ""  # "name", "base name", "place"


def align(reference: Sequence[LaunchRecord], here: Sequence[LaunchRecord]) -> tuple[Pair, ...]:
    """Pairs in the order of the reference. Launches that were captured into a graph run later and are left out."""
    left = [one for one in reference if not one.captured]
    right = [one for one in here if not one.captured]
    return tuple(_aligned(left, right, 0))


_STEPS = (("name", full_key), ("base name", base_key))


def _aligned(left: list[LaunchRecord], right: list[LaunchRecord], step: int) -> list[Pair]:
    if step == len(_STEPS):
        return _by_place(left, right)
    by, key = _STEPS[step]
    keys = [key(one.symbol) for one in left], [key(one.symbol) for one in right]
    pairs: list[Pair] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += [Pair(one, two, by) for one, two in zip(left[i1:i2], right[j1:j2], strict=True)]
        else:
            pairs += _aligned(left[i1:i2], right[j1:j2], step + 1)
    return pairs


def _by_place(left: list[LaunchRecord], right: list[LaunchRecord]) -> list[Pair]:
    """Renamed kernels: as many on both sides, with as many pointers each, are taken to be the same."""
    same = len(left) == len(right) and all(
        len(one.arguments) == len(two.arguments) for one, two in zip(left, right, strict=True)
    )
    if same:
        return [Pair(one, two, "place") for one, two in zip(left, right, strict=True)]
    return [*(Pair(one, None) for one in left), *(Pair(None, two) for two in right)]
