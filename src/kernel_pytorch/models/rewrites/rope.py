"""Rotary position embedding of a model as our kernel: x * cos + rotate_half(x) * sin, for queries and keys together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.chains import erase_upwards
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, mutates
from kernel_pytorch.models.kernels.functions import serves
from kernel_pytorch.models.kernels.ops import call

if TYPE_CHECKING:
    from torch import Tensor, fx

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node


@dataclass(frozen=True)
class _Rotation:
    result: fx.Node
    x: fx.Node
    cos: fx.Node
    sin: fx.Node


def rope(use: str) -> Rewrite:
    """Rotations of pairs half a head apart."""
    return Rewrite(
        name="rope kernel", level="aggressive", effect="queries and keys are read and written once, in one kernel",
        edit=partial(_edit, use=use), is_fusion=True,
    )  # fmt: skip


def rotated_pair(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, use: str) -> Any:
    """x * cos + rotate_half(x) * sin of both."""
    import torch

    tables = _tables(q, k, cos, sin)
    needs_angles = torch.is_grad_enabled() and (cos.requires_grad or sin.requires_grad)
    if tables is None or needs_angles or not serves("rope", use, q):
        return by_hand(q, cos, sin), by_hand(k, cos, sin)
    tokens_first, cos, sin = tables
    if tokens_first:
        q, k = call("rope", q.transpose(1, 2), k.transpose(1, 2), cos, sin, q.shape[-1], False, False)
        return q.transpose(1, 2), k.transpose(1, 2)
    q, k = call("rope", q, k, cos, sin, q.shape[-1], False, False)
    return q, k


def rotated(x: Tensor, cos: Tensor, sin: Tensor, use: str) -> Any:
    """x * cos + rotate_half(x) * sin."""
    return rotated_pair(x, x[:, :, :0] if cos.shape[2] == 1 < x.shape[2] else x[:, :0], cos, sin, use)[0]


def by_hand(x: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """The same in torch's operations."""
    import torch

    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def _tables(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[bool, Any, Any] | None:
    """The tables without the axis of the heads, and whether tokens come before heads; None for other shapes."""
    if q.dim() != 4 or k.dim() != 4 or cos.dim() != 4 or cos.shape != sin.shape or cos.shape[-1] != q.shape[-1]:
        return None
    if q.dtype != k.dtype or cos.dtype != q.dtype or sin.dtype != q.dtype or q.shape[-1] % 2:
        return None
    if cos.shape[0] not in (1, q.shape[0]) or k.shape[0] != q.shape[0] or k.shape[-1] != q.shape[-1]:
        return None
    if cos.shape[1] == 1 and cos.shape[2] == q.shape[2] == k.shape[2]:
        return False, cos.squeeze(1), sin.squeeze(1)
    if cos.shape[2] == 1 and cos.shape[1] == q.shape[1] == k.shape[1]:
        return True, cos.squeeze(2), sin.squeeze(2)
    return None


def _edit(traced: TracedForward, use: str) -> list[Change]:
    graph = traced.graph
    if mutates(traced, iter(graph.nodes)):
        return []
    places = {node: place for place, node in enumerate(graph.nodes)}
    waiting = [item for node in graph.nodes if (item := _rotation(traced, node)) is not None]
    changes = []
    while waiting:
        one = waiting.pop(0)
        partner = next((item for item in waiting if _together(one, item, places)), None)
        with graph.inserting_before(one.result):
            if partner is None:
                new = graph.call_function(rotated, (one.x, one.cos, one.sin, use))
            else:
                waiting.remove(partner)
                both = graph.call_function(rotated_pair, (one.x, partner.x, one.cos, one.sin, use))
                new, other = (graph.call_method("__getitem__", (both, place)) for place in (0, 1))
                _replace(graph, partner.result, other)
        _replace(graph, one.result, new)
        what = "rotary embedding as one Triton kernel" if partner is None else "rotary embedding of q and k as one"
        changes.append(Change(traced.where or "the model", what))
    return changes


def _together(one: _Rotation, other: _Rotation, places: dict[Node, int]) -> bool:
    return one.cos is other.cos and one.sin is other.sin and places[other.x] < places[one.result]


def _replace(graph: fx.Graph, node: fx.Node, new: Any) -> None:
    node.replace_all_uses_with(new)
    erase_upwards(graph, node)


def _rotation(traced: TracedForward, node: fx.Node) -> _Rotation | None:
    if operation(node) != "add" or len(node.args) != 2 or any(operation(item) != "mul" for item in node.args):
        return None
    for straight, turned in (node.args, reversed(node.args)):
        for half, sin in (turned.args, reversed(turned.args)):
            x = _source_of_turned(traced, half)
            if x is None or x not in straight.args:
                continue
            cos = straight.args[1] if straight.args[0] is x else straight.args[0]
            shapes = [traced.value(item) for item in (x, cos, sin)]
            if all(item.is_tensor and item.shape is not None and len(item.shape) == 4 for item in shapes):
                return _Rotation(node, x, cos, sin)
    return None


def _source_of_turned(traced: TracedForward, node: fx.Node) -> Any:
    """x of cat((-x[..., half:], x[..., :half]), -1); None for anything else."""
    if operation(node) != "cat" or not isinstance(node.args[0], (tuple, list)) or len(node.args[0]) != 2:
        return None
    second, first = node.args[0]
    shape = traced.value(node).shape
    if operation(second) != "neg" or shape is None or argument(node, 1, "dim", 0) not in (-1, len(shape) - 1):
        return None
    second = second.args[0]
    x = _part(traced, second, 1)
    return x if x is not None and x is _part(traced, first, 0) and traced.value(x).shape == shape else None


def _part(traced: TracedForward, node: fx.Node, number: int) -> Any:
    """x where the node is its first or second half along the last axis."""
    if operation(node) != "getitem":
        return None
    source, index = node.args
    if operation(source) == "chunk" and index in (number, number - 2):
        shape = traced.value(source.args[0]).shape
        last = shape is not None and argument(source, 2, "dim", 0) in (-1, len(shape) - 1)
        return source.args[0] if last and argument(source, 1, "chunks") == 2 else None
    shape = traced.value(source).shape
    if shape is None or not isinstance(index, tuple) or not isinstance(index[-1], slice):
        return None
    whole = index[0] is Ellipsis and len(index) == 2
    if not whole and not (len(index) == len(shape) and all(item == slice(None) for item in index[:-1])):
        return None
    cut, half = index[-1], shape[-1] / 2
    ends = [None if end is None else traced.value(end).number for end in (cut.start, cut.stop)]
    if cut.step is not None:
        return None
    wanted = [(None, half), (0.0, half)] if number == 0 else [(half, None), (half, float(shape[-1]))]
    return source if tuple(ends) in wanted else None
