"""Does a graph still stand for its modules? It reads their weights where they lay, and knows nothing of Python."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from kernel_pytorch.backends.graph_inputs import NotReplayable
from kernel_pytorch.backends.undisturbed import undisturbed

_MODE = operator.attrgetter("training")
_HOOKS, _PRE_HOOKS = operator.attrgetter("_forward_hooks"), operator.attrgetter("_forward_pre_hooks")
_VERSION, _address_of = operator.attrgetter("_version"), operator.methodcaller("data_ptr")


class ModuleGuard:
    """The weights, modes and attributes of modules at the time a graph was recorded."""

    def __init__(self, modules: Sequence[Any]) -> None:
        self._roots = tuple(modules)
        all_modules = list(dict.fromkeys(module for root in modules for module in root.modules()))
        rows = [
            (table, name, tensor)
            for module in all_modules
            for table in (module._parameters, module._buffers)
            for name, tensor in table.items()
            if tensor is not None
        ]
        # As columns: every call compares them whole, which takes a fifth of the time of a loop over rows.
        self._modules = all_modules
        self._modes = [module.training for module in all_modules]
        self._tables, self._names, self._tensors = ([row[place] for row in rows] for place in range(3))
        self._addresses = [_address(tensor) for tensor in self._tensors]
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
        if list(map(_MODE, self._modules)) != self._modes:
            return "a module is in another mode (train or eval)"
        if any(map(_HOOKS, self._modules)) or any(map(_PRE_HOOKS, self._modules)):
            return "a module has hooks, which a graph would not call"
        return ""

    def why_stale(self) -> str:
        """What makes the graph useless: weights that were moved, replaced or changed; empty if nothing does.

        Changed in place is enough: something may have been computed from them once, folded weights for one."""
        if not all(map(operator.is_, map(dict.get, self._tables, self._names), self._tensors)):
            return "a weight was replaced"
        if list(map(_address_of, self._tensors)) != self._addresses:
            return "a weight was moved"
        if list(map(_VERSION, self._counted)) != self._versions:
            return "a weight was changed"
        return ""


def refuse_state(modules: Sequence[Any], run: Any) -> None:
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
def all_undisturbed(modules: Sequence[Any]) -> Iterator[None]:
    """Buffers and attributes of every module are as before afterwards."""
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(undisturbed(module))
        yield


def _attributes(module: Any) -> dict[str, Any]:
    return {**module.__dict__, **module._buffers, **module._parameters}


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, (bool, int, float, str, tuple)) and bool(one == other)


def _address(tensor: Any) -> int:
    try:
        return int(tensor.data_ptr())
    except (RuntimeError, NotImplementedError) as error:
        raise NotReplayable(f"a parameter of type {type(tensor).__name__} has no address: {error}") from None
