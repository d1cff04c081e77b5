"""Values of an example beside the proxies of a trace, so that a forward may branch on shapes and dtypes.

What a forward asks of its tensors without reading them (shape, dtype, device) decides branches as it did on the
example; the graph then holds for calls with the same answers only. A branch on what is in a tensor ends the trace.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import fx, nn

# What the graph depends on, from nothing to everything that can be asked without reading.
FREE, RANKS, ALL = 0, 1, 2
_METADATA = ("shape", "ndim", "dtype", "device", "is_cuda", "itemsize", "dim", "size", "numel", "is_floating_point")


class ReadsValues(Exception):
    """The forward asked for what is in a tensor, or in an object that the graph does not look into."""


def facts_of(tensors: list[Any], dependence: int) -> tuple[Any, ...] | None:
    """What must be the same in a call for the graph to be its forward."""
    import torch

    if dependence == FREE:
        return None
    known = [item if isinstance(item, torch.Tensor) else None for item in tensors]
    if dependence == RANKS:
        return tuple(None if item is None else item.dim() for item in known)
    return tuple(None if item is None else (tuple(item.shape), item.dtype, item.device.type) for item in known)


def from_metadata(node: fx.Node) -> bool:
    """Is a node's value computed from shapes, dtypes and constants only?"""
    if node.op in ("placeholder", "get_attr", "call_module"):
        return False
    name = node.args[1] if node.target is getattr else node.target
    if (node.target is getattr or node.op == "call_method") and name in _METADATA:
        return True
    return all(from_metadata(item) for item in node.all_input_nodes)


class LiveValues:
    """What each node of a trace gave on the example."""

    def __init__(self, root: nn.Module, arguments: list[Any]) -> None:
        self.root, self.arguments = root, list(arguments)
        self.values: dict[Any, Any] = {}
        self.dependence = FREE
        self.is_running = False

    def run(self, node: fx.Node) -> None:
        """Compute a node that was just made. The tracer leaves alone what is called meanwhile."""
        from torch.fx.node import map_arg

        args, kwargs = map_arg((node.args, node.kwargs), self._value)
        self.is_running = True
        try:
            if node.op == "placeholder":
                result = self.arguments.pop(0)
            elif node.op == "get_attr":
                result = operator.attrgetter(node.target)(self.root)
            elif node.op == "call_module":
                result = self.root.get_submodule(node.target)(*args, **kwargs)
            elif node.op == "call_method":
                result = getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                result = node.target(*args, **kwargs)
        finally:
            self.is_running = False
        self.values[node] = result

    def _value(self, node: fx.Node) -> Any:
        if node.op == "get_attr" and node not in self.values:  # made by the tracer without a proxy
            self.values[node] = operator.attrgetter(node.target)(self.root)
        return self.values[node]

    def known(self, node: fx.Node, what: str, dependence: int = ALL) -> Any:
        """A value that Python needs now. Raises ReadsValues where it is not known from shapes alone."""
        if not from_metadata(node):
            raise ReadsValues(f"its control flow depends on {what} of {node.name}, which is computed from tensors")
        self.dependence = max(self.dependence, dependence)
        return self.values[node]

    def length(self, node: fx.Node) -> int:
        """How many items a node has: of a shape, the number of axes."""
        import torch

        value = self.values[node]
        if isinstance(value, torch.Tensor):
            self.dependence = ALL
        elif isinstance(value, torch.Size):
            self.dependence = max(self.dependence, RANKS)
        elif not isinstance(value, (tuple, list)):
            raise ReadsValues(f"its control flow depends on the length of {node.name}")
        return len(value)


@lru_cache(maxsize=1)
def live_proxy_class() -> Any:
    """A proxy that answers where its tracer knows the value."""
    from torch import fx

    class LiveProxy(fx.Proxy):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            if name in ("shape", "ndim", "dtype", "device"):
                return self.tracer.create_proxy("call_function", getattr, (self, name), {})
            return super().__getattr__(name)

        def __len__(self) -> int:
            return int(self.tracer.live.length(self.node))

        def __index__(self) -> int:
            return operator.index(self.tracer.live.known(self.node, "the value"))

        def __int__(self) -> int:
            return int(self.tracer.live.known(self.node, "the value"))

        def __float__(self) -> float:
            return float(self.tracer.live.known(self.node, "the value"))

    return LiveProxy


@lru_cache(maxsize=1)
def untyped_proxy_class() -> Any:
    """A proxy of a trace without an example: it cannot answer the model's code when that asks for its type."""
    import sys

    from torch import fx

    class UntypedProxy(fx.Proxy):  # type: ignore[misc]
        @property  # type: ignore[misc]
        def __class__(self) -> type:
            caller = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
            if caller not in ("torch", "kernel_pytorch"):
                raise ReadsValues("it asks for the type of a value: it needs an example")
            return UntypedProxy

    return UntypedProxy
