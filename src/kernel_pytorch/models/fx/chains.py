"""Walking up a graph through operations that only change the layout or the dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.graph_nodes import argument, operation

if TYPE_CHECKING:
    from torch import fx

_AXES = ("transpose", "swapaxes", "swapdims")


def axis_before(node: fx.Node, axis: int, rank: int) -> int | None:
    """Where an axis of a node's result is in its first argument; None if the node does more than move axes."""
    name = operation(node)
    if name in _AXES:
        one, other = (int(argument(node, place, key)) % rank for place, key in ((1, "dim0"), (2, "dim1")))
        return {one: other, other: one}.get(axis, axis)
    if name == "permute":
        order = node.args[1] if isinstance(node.args[1], (tuple, list)) else node.args[1:]
        return int(order[axis]) % rank
    if name == "getattr" and node.args[1] == "mT":
        return {rank - 1: rank - 2, rank - 2: rank - 1}.get(axis, axis)
    return axis if name in ("contiguous", "cast") else None


def applied_again(graph: fx.Graph, chain: list[Any], start: Any) -> Any:
    """The operations of a chain, which goes from the last to the first, on another first argument."""
    for node in reversed(chain):
        start = graph.create_node(node.op, node.target, (start, *node.args[1:]), dict(node.kwargs))
    return start


def erase_upwards(graph: fx.Graph, node: fx.Node) -> None:
    """Remove a node that nobody reads, and what only it needed. Methods of objects that are no tensors stay."""
    from torch import fx

    if not isinstance(node, fx.Node) or node._erased or node.users or node.op not in ("call_function", "call_method"):
        return
    if node.op == "call_method" and operation(node) not in _READING:
        return
    inputs = list(node.all_input_nodes)
    graph.erase_node(node)
    for item in inputs:
        erase_upwards(graph, item)


# A method of an unknown object (a cache) may have an effect; these are of tensors, and have none.
_READING = (
    *("transpose", "permute", "swapaxes", "swapdims", "view", "reshape", "expand", "unsqueeze", "squeeze", "flatten"),
    *("contiguous", "cast", "bool", "logical_not", "logical_and", "masked_fill", "matmul", "softmax", "size", "dim"),
    *("repeat_interleave", "mul", "add", "div", "sub", "neg", "chunk", "eq", "tril", "triu"),
)
