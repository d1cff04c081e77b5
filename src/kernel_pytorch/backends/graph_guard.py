"""Does a graph still stand for its modules? It reads their weights where they lay, and knows nothing of Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kernel_pytorch.backends.graph_inputs import NotReplayable
from kernel_pytorch.models.undisturbed import undisturbed

if TYPE_CHECKING:
    from torch import Tensor, nn

_MODE, _VERSION = operator.itemgetter("training"), operator.attrgetter("_version")


class ModuleGuard:
    """The weights, modes and attributes of modules at the time a graph was recorded.

    Every call asks it, and a decoder of 22 layers has 300 modules and 200 weights: what it compares is kept as columns,
    so that the loops run in C.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        from torch.nn.modules import module as everywhere

        self._roots = tuple(modules)
        all_modules = list(dict.fromkeys(module for root in modules for module in root.modules()))
        rows = [
            (table, name, tensor)
            for module in all_modules
            for table in (module._parameters, module._buffers)
            for name, tensor in table.items()
            if tensor is not None
        ]
        # A wrapper of torch.compile has no mode of its own; what it wraps is in the list too.
        self._states = [module.__dict__ for module in all_modules if "training" in module.__dict__]
        self._modes = list(map(_MODE, self._states))
        self._hooks = [everywhere._global_forward_hooks, everywhere._global_forward_pre_hooks]
        self._hooks += [hooks for module in all_modules for hooks in (module._forward_hooks, module._forward_pre_hooks)]
        self._tables, self._names, self._tensors = ([row[place] for row in rows] for place in range(3))
        self._addresses = [_address(tensor) for tensor in self._tensors]
        self._lie_there = _all_lie_at(self._tensors, self._addresses)
        self._counted = [tensor for tensor in self._tensors if not tensor.is_inference()]
        self._versions = list(map(_VERSION, self._counted))
        # What a forward kept for later (a table of angles, folded weights) must live as long as the graph reads it.
        self._kept = [dict(module.__dict__) for module in all_modules]

    def renewed(self) -> ModuleGuard:
        """A guard of the modules as they are now, which still holds on to what was there before."""
        fresh = ModuleGuard(self._roots)
        fresh._kept += self._kept
        return fresh

    def why_not_now(self) -> str:
        """Why this call is not what was recorded, although the graph may serve again later; empty if it is."""
        if list(map(_MODE, self._states)) != self._modes:
            return "a module is in another mode (train or eval)"
        if any(self._hooks):
            return "a module has hooks, which a graph would not call"
        return ""

    def memory_is_there(self) -> bool:
        """Whether every weight lies where the graph reads it. Replaying is then safe, if not yet right."""
        return self._lie_there()

    def why_stale(self) -> str:
        """What makes the graph useless: weights that were moved, replaced or changed; empty if nothing does.

        Changed in place is enough: something may have been computed from them once, folded weights for one."""
        if not all(map(operator.is_, map(dict.get, self._tables, self._names), self._tensors)):
            return "a weight was replaced"
        if not self._lie_there():
            return "a weight was moved"
        if list(map(_VERSION, self._counted)) != self._versions:
            return "a weight was changed"
        return ""


def refuse_state(modules: Sequence[nn.Module], run: Callable[[], object]) -> None:
    """Raise NotReplayable if `run` leaves other attributes or other tensors on the modules than it found.

    It is run twice: what is made once and then kept is no state."""
    run()
    before = [(module, _attributes(module)) for root in modules for module in root.modules()]
    run()
    for module, attributes in before:
        now = _attributes(module)
        changed = [name for name in now if name not in attributes or not _same(now[name], attributes[name])]
        if changed:
            raise NotReplayable(f"{type(module).__name__} changes its attribute {changed[0]!r} on every call")


@contextmanager
def all_undisturbed(modules: Sequence[nn.Module]) -> Iterator[None]:
    """Buffers and attributes of every module are as before afterwards."""
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(undisturbed(module))
        yield


def _attributes(module: nn.Module) -> dict[str, object]:
    return {**module.__dict__, **module._buffers, **module._parameters}


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, (bool, int, float, str, tuple)) and bool(one == other)


def _all_lie_at(tensors: list[Tensor], addresses: list[int]) -> Callable[[], bool]:
    """Whether the tensors lie where they lay. The base class's method: looked up on each tensor it takes four times as
    long. torch built for GPUs has one call for all."""
    import torch

    at_once = getattr(torch._C, "_tensors_data_ptrs_at_indices_equal", None)
    if at_once is not None:
        places = list(range(len(tensors)))
        return lambda: bool(at_once(tensors, addresses, places))
    address_of = torch._C.TensorBase.data_ptr
    return lambda: list(map(address_of, tensors)) == addresses


def _address(tensor: Tensor) -> int:
    try:
        return int(tensor.data_ptr())
    except (RuntimeError, NotImplementedError) as error:
        raise NotReplayable(f"a parameter of type {type(tensor).__name__} has no address: {error}") from None
