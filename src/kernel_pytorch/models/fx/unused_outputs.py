"""Which places of the tuples that modules return nobody looks at: attention weights, most often.

Seen in a run of the example: a tensor that no torch function was given after its module returned, and that nothing
holds any more when the model has returned, was not used.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.example_run import run_once
from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn


def unused_outputs(model: nn.Module, inputs: Inputs) -> dict[nn.Module, frozenset[int]]:
    """For modules that return tuples, the places unused in all of their calls."""
    import torch

    returned: dict[int, tuple[Any, list[tuple[nn.Module, int]]]] = {}
    used: set[int] = set()
    found: dict[nn.Module, set[int]] = {}
    needed: dict[nn.Module, set[int]] = {}

    def after(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if type(output) is not tuple:
            return
        for place, item in enumerate(output):
            if isinstance(item, torch.Tensor):
                returned.setdefault(id(item), (item, []))[1].append((module, place))

    def look() -> None:
        for address, (item, places) in returned.items():
            # Held by the entry of `returned`, by `item` and by the argument of getrefcount: by nobody else.
            is_used = address in used or sys.getrefcount(item) > 3
            for module, place in places:
                (needed if is_used else found).setdefault(module, set()).add(place)

    run_once(model, inputs, after=after, within=_watching_class()(returned, used), look=look)
    return {module: frozenset(places - needed.get(module, set())) for module, places in found.items()}


@lru_cache(maxsize=1)
def _watching_class() -> Any:
    from torch.overrides import TorchFunctionMode
    from torch.utils import _pytree

    class Watching(TorchFunctionMode):  # type: ignore[misc]
        """Notes which of the returned tensors are given to torch."""

        def __init__(self, returned: dict[int, Any], used: set[int]) -> None:
            super().__init__()
            self._returned, self._used = returned, used

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            for leaf in _pytree.tree_leaves((args, kwargs)):
                if id(leaf) in self._returned:
                    self._used.add(id(leaf))
            return func(*args, **(kwargs or {}))

    return Watching
