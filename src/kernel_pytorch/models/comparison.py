"""How far two results lie apart, next to what the precision they were computed in explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Difference:
    """The largest difference between two runs, next to what it may be."""

    error: float
    limit: float
    where: str

    @property
    def is_acceptable(self) -> bool:
        return self.error <= self.limit


def distance(old: Tensor, new: Tensor, relative: float, absolute: float, where: str) -> Difference:
    """The largest difference of two tensors; the limit is relative to the largest value of `old`."""
    import torch

    if old.shape != new.shape or old.dtype != new.dtype:
        return Difference(float("inf"), 0.0, f"{where}: {old.dtype} {tuple(old.shape)} became {new.dtype}")
    if old.numel() == 0:
        return Difference(0.0, 0.0, where)
    if not old.is_floating_point():
        return Difference(0.0 if torch.equal(old, new) else float("inf"), 0.0, where)
    finite = torch.isfinite(old)
    same_elsewhere = torch.equal(torch.isfinite(new), finite) and torch.equal(
        torch.nan_to_num(old.masked_fill(finite, 0.0)), torch.nan_to_num(new.masked_fill(finite, 0.0))
    )
    if not same_elsewhere:
        return Difference(float("inf"), 0.0, f"{where}: infinite or NaN in other places")
    reference = old.masked_fill(~finite, 0.0).double()
    error = (reference - new.masked_fill(~finite, 0.0).double()).abs().max().item()
    return Difference(error, relative * reference.abs().max().item() + absolute, where)


def worse(one: Difference, other: Difference) -> Difference:
    """The one that is further beyond its limit."""

    def excess(item: Difference) -> float:
        return item.error / item.limit if item.limit else (float("inf") if item.error else 0.0)

    return other if excess(other) > excess(one) or (one.error == 0.0 and other.error >= one.error) else one


def tensors_in(value: object) -> Iterator[Tensor]:
    """Every tensor in a nest of containers and dataclasses, in order."""
    import torch
    from torch.utils import _pytree

    for leaf in _pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            yield leaf
        elif hasattr(leaf, "__dataclass_fields__"):
            yield from tensors_in(list(vars(leaf).values()))
