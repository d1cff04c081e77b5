"""Watches a module tree run: every call of every submodule, what goes in and what comes out, in order of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

ROOT = "(model)"


@dataclass(frozen=True)
class Event:
    """One moment of a run: the `call`-th call of a module, its inputs ("in") or its outputs ("out")."""

    module: str
    call: int
    phase: str

    @property
    def key(self) -> str:
        return f"{self.module}#{self.call}.{self.phase}"

    @property
    def parent(self) -> str:
        """The module whose code makes this call."""
        if self.module == ROOT:
            return ROOT
        return self.module.rpartition(".")[0] or ROOT


# Gets an event and its tensors; may give back tensors to go on with instead (inputs only).
Visit = Callable[[Event, "list[Any]"], "list[Any] | None"]


@contextmanager
def observed(model: Any, visit: Visit, depth: int | None = None) -> Iterator[None]:
    """While open, every call of `model` and of its submodules down to `depth` is shown to `visit`."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    calls: dict[str, int] = defaultdict(int)
    open_calls: dict[str, list[int]] = defaultdict(list)
    handles: list[Any] = []

    def before(name: str) -> Callable[..., Any]:
        def hook(module: Any, args: Any, kwargs: Any) -> Any:
            number = calls[name]
            calls[name] += 1
            open_calls[name].append(number)
            leaves, shape = tree_flatten((args, kwargs))
            where = _tensor_places(leaves)
            changed = visit(Event(name, number, "in"), [leaves[index] for index in where])
            if changed is None:
                return None
            for index, tensor in zip(where, changed, strict=True):
                leaves[index] = tensor
            return tree_unflatten(leaves, shape)

        return hook

    def after(name: str) -> Callable[..., Any]:
        def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            number = open_calls[name].pop()
            leaves, _ = tree_flatten(output)
            visit(Event(name, number, "out"), [leaves[index] for index in _tensor_places(leaves)])

        return hook

    try:
        for name, module in model.named_modules():
            if depth is not None and name.count(".") >= depth and name:
                continue
            handles.append(module.register_forward_pre_hook(before(name or ROOT), with_kwargs=True))
            handles.append(module.register_forward_hook(after(name or ROOT), with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


def flat_tensors(value: Any) -> list[Any]:
    """Every tensor in a nest of tuples, lists, dictionaries and model outputs."""
    from torch.utils._pytree import tree_flatten

    leaves, _ = tree_flatten(value)
    return [leaves[index] for index in _tensor_places(leaves)]


def _tensor_places(leaves: list[Any]) -> list[int]:
    import torch

    return [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
