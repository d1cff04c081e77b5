"""A second tree of module objects over the same parameters and buffers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


def shallow_tree(model: nn.Module) -> nn.Module:
    """New module objects with the same Parameters, buffers and modes; other attributes are copied.

    What a forward keeps in an attribute, and what surgery puts on a module, then stays in one of the two trees.
    """
    import torch

    modules = _all_modules(model)
    memo: dict[int, Any] = {}
    for module in modules:
        # A scripted module is no Python object that could be copied without its weights.
        shared = isinstance(module, torch.jit.ScriptModule)
        memo[id(module)] = module if shared else object.__new__(type(module))
        for value in (*module._parameters.values(), *module._buffers.values(), *module.__dict__.values()):
            if isinstance(value, torch.Tensor):
                memo[id(value)] = value
    with _tensors_stay()():
        for module in modules:
            shell = memo[id(module)]
            if shell is not module:
                shell.__dict__.update({name: _copied(value, memo) for name, value in module.__dict__.items()})
                shell.__dict__["_compiled_call_impl"] = None  # it would call the other tree
    for module in modules:
        # Layers that compute together look for each other again.
        getattr(memo[id(module)], "renew_joint", lambda: None)()
    tree: nn.Module = memo[id(model)]
    return tree


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except Exception:
        # Locks, streams, process groups: what cannot be copied is no part of what a forward computes.
        return value


def _all_modules(model: nn.Module) -> list[Any]:
    """Those of the tree, and those that modules hold in plain attributes."""
    found: dict[int, Any] = {}
    waiting: list[Any] = [model]
    while waiting:
        module = waiting.pop()
        if id(module) not in found:
            found[id(module)] = module
            waiting += [item for value in module.__dict__.values() for item in _modules_in(value)]
    return list(found.values())


def _modules_in(value: Any, depth: int = 3) -> Iterator[Any]:
    from torch import nn

    if isinstance(value, nn.Module):
        yield value
    elif depth and type(value) in (list, tuple, dict, set):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _modules_in(item, depth - 1)


@lru_cache(maxsize=1)
def _tensors_stay() -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    class TensorsStay(TorchFunctionMode):  # type: ignore[misc]
        """copy.deepcopy gives back tensors as they are."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.Tensor.__deepcopy__:
                return args[0]
            return func(*args, **(kwargs or {}))

    return TensorsStay
