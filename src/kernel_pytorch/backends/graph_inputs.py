"""The arguments of a call as a graph sees them: of which kind they are, where they are copied to, which are padded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

from kernel_pytorch.models.fx.forwards import signature_of

_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


class NotReplayable(Exception):
    """A call that no graph can stand for; the message says why."""


@dataclass(frozen=True)
class Buckets:
    """The sizes of one axis that graphs are made for, so that a few graphs serve every size up to the largest.

    A call with a size in between is padded and its outputs are cut. That is right only where rows along the axis do
    not look at each other, as in a batch; it is checked, and a function that mixes them is not replayed.
    """

    sizes: tuple[int, ...]
    axis: int = 0

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1 or self.axis < 0:
            raise ValueError(f"sizes={self.sizes}, axis={self.axis}: expected positive sizes and an axis from 0")
        object.__setattr__(self, "sizes", tuple(sorted(set(self.sizes))))

    def size_for(self, rows: int) -> int:
        """The smallest size that holds `rows`. Raises NotReplayable where there is none."""
        fitting = next((size for size in self.sizes if size >= rows), None)
        if fitting is None:
            raise NotReplayable(f"{rows} rows are more than the largest bucket, {self.sizes[-1]}")
        return fitting


@dataclass(frozen=True)
class Call:
    """One call, taken apart: its kind, its tensors in order, and how many of a bucket's rows they fill."""

    kind: Hashable
    tensors: tuple[Tensor, ...]
    rows: int | None = None
    bucket: int | None = None
    padded: tuple[bool, ...] = ()


def split_call(args: tuple[object, ...], kwargs: dict[str, object], buckets: Buckets | None) -> Call:
    """The call as data. Raises NotReplayable for arguments of unknown types, or a size beyond the buckets."""
    import torch

    tensors: list[Any] = []
    structure = (signature_of(args, tensors), signature_of(kwargs, tensors))
    for item in tensors:
        if not isinstance(item, torch.Tensor):
            raise NotReplayable(f"it is called with an argument of type {type(item).__name__}")
    if buckets is None:
        shapes: Hashable = tuple((item.shape, item.dtype, item.device) for item in tensors)
        return Call((structure, shapes), tuple(tensors))
    axis = buckets.axis
    rows = next((item.shape[axis] for item in tensors if item.dim() > axis), None)
    if rows is None:
        raise NotReplayable(f"no argument has an axis {axis} to be bucketed by")
    bucket = buckets.size_for(rows)
    padded = tuple(item.dim() > axis and item.shape[axis] == rows for item in tensors)
    shapes = tuple(
        ((*item.shape[:axis], bucket, *item.shape[axis + 1 :]) if pads else tuple(item.shape), item.dtype, item.device)
        for item, pads in zip(tensors, padded, strict=True)
    )
    return Call((structure, shapes, padded), tuple(tensors), rows, bucket, padded)


def static_copies(call: Call, axis: int) -> list[Any]:
    """Tensors of the graph's own with the contents of the call; rows that it does not fill repeat its first ones."""
    import torch

    copies = []
    for place, item in enumerate(call.tensors):
        own = item.detach()
        if call.padded and call.padded[place] and call.rows != call.bucket:
            rows = torch.arange(call.bucket or 0, device=own.device) % (call.rows or 1)
            own = own.index_select(axis, rows)
        else:
            own = own.clone()
        copies.append(own)
    return copies


def fill(copies: list[Tensor], call: Call, axis: int) -> None:
    """Copy a call's tensors to where the graph reads them. What a bucket has beyond them stays as it was."""
    for place, (own, given) in enumerate(zip(copies, call.tensors, strict=True)):
        target = own.narrow(axis, 0, call.rows) if call.padded and call.padded[place] else own
        target.copy_(given, non_blocking=True)


def fresh_values(tensor: Tensor, seed: int) -> Tensor:
    """Other values of the same kind: shuffled, and floats that are all alike with noise.

    Whole numbers are shuffled only where they have two axes or more: in one axis they are often offsets, whose order
    is their meaning. Masks stay.
    """
    import torch

    if tensor.numel() == 0 or tensor.dtype == torch.bool:
        return tensor
    is_number = tensor.is_floating_point() or tensor.is_complex()
    if not is_number and tensor.dim() < 2:
        return tensor
    generator = torch.Generator(tensor.device).manual_seed(seed)
    order = torch.randperm(tensor.numel(), generator=generator, device=tensor.device)
    shuffled = tensor.detach().flatten()[order].view(tensor.shape)
    if is_number and bool((shuffled == shuffled.flatten()[0]).all()):
        noise = torch.rand(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float32)
        return shuffled + noise.to(tensor.dtype)
    return shuffled


def refuse_unknown(outputs: object) -> None:
    """Raise NotReplayable for a result that holds objects which could hide tensors of the graph."""
    import torch
    from torch.utils import _pytree

    for leaf in _pytree.tree_leaves(outputs):
        if is_dataclass(leaf) and not isinstance(leaf, type):
            refuse_unknown(list(vars(leaf).values()))
        elif not isinstance(leaf, (torch.Tensor, *_CONSTANTS)):
            raise NotReplayable(f"it returns an object of type {type(leaf).__name__}")


def rebuilt(outputs: object, given: Callable[[Tensor], object]) -> object:
    """The same containers and dataclasses with every tensor replaced by what `given` makes of it."""
    import torch
    from torch.utils import _pytree

    def leaf(value: object) -> object:
        if isinstance(value, torch.Tensor):
            return given(value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        twin = copy.copy(value)
        for name, item in vars(value).items():
            object.__setattr__(twin, name, rebuilt(item, given))
        return twin

    return _pytree.tree_map(leaf, outputs)
