"""What a model is called with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Inputs:
    """What the model is called with. `others` are further calls of the same program, with other sizes."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    others: tuple[Inputs, ...] = ()

    def call(self, function: Callable[..., Any]) -> Any:
        """One call with them."""
        return function(*self.args, **self.kwargs)

    def mapped(self, change: Callable[[Any], Any]) -> Inputs:
        """The same call with each leaf (a tensor, a number, an object) changed."""
        from torch.utils import _pytree

        args, kwargs = _pytree.tree_map(change, (self.args, self.kwargs))
        return Inputs(tuple(args), dict(kwargs))


def as_inputs(inputs: Any) -> Inputs:
    """A tuple or list is positional, a dictionary keywords, anything else the one argument."""
    if isinstance(inputs, Inputs):
        return inputs
    if isinstance(inputs, Mapping):
        return Inputs((), {str(name): value for name, value in inputs.items()})
    return Inputs(tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,))


def copied_inputs(inputs: Inputs) -> Inputs:
    """The same values in tensors and objects of their own, for a call that may write into its arguments."""
    return inputs.mapped(own_copy)


def own_copy(leaf: Any) -> Any:
    """A copy of one argument; a cache of keys and values grows with every call. What cannot be copied is passed on."""
    import torch

    if isinstance(leaf, torch.Tensor):
        return leaf.detach().clone().requires_grad_(leaf.requires_grad)
    if leaf is None or isinstance(leaf, (bool, int, float, str, bytes)) or callable(leaf):
        return leaf
    try:
        return copy.deepcopy(leaf)
    except Exception:
        return leaf
