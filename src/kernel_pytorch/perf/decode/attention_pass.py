"""Attention of one query over a cache, put into a graph: without repeated heads, with rotation and cache inside."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.capped_attention import capped_attention
from kernel_pytorch.perf.decode.patterns import (
    Norm,
    Rotation,
    head_norm,
    is_call,
    is_input,
    rotation,
    unrepeated,
    value,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import _OpNamespace as OpNamespace
    from torch.fx import Graph, Node
    from torch.fx.node import Argument

FUSED = (
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
)


Known = dict[Hashable, "Node"]

# Without side effects or chance: computed in the same way, they are the same.
MAKES_MASKS = (
    "where.self", "expand", "full", "scalar_tensor", "clone", "constant_pad_nd", "slice.Tensor", "unsqueeze", "view",
    "reshape", "add.Tensor", "sub.Tensor", "le.Tensor", "lt.Tensor", "ge.Tensor", "gt.Tensor", "eq.Tensor",
    "logical_and", "logical_or", "logical_not", "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_not",
)  # fmt: skip


@dataclass(frozen=True)
class Query:
    """What asks: q, as it was before its rotation where that is known, the bias of the scores and their scale."""

    q: Node
    turned: Rotation | None
    bias: Node | None
    scale: float
    cap: float = 0.0


@dataclass(frozen=True)
class Stored:
    """A cache with one place written, and the copy that ends it."""

    cache: Node
    position: Node
    written: Node
    copy: Node


def attention(graph: Graph, operators: OpNamespace) -> int:
    """Replace what can be; gives how many."""
    known: Known = {}
    placed = sum(_replaced(graph, node, operators, known) for node in list(graph.nodes) if is_call(node, *FUSED))
    return placed + sum(_capped(graph, node, operators, known) for node in list(graph.nodes) if is_call(node, "bmm"))


def _one_of(known: Known, node: Node) -> Node:
    """The first mask or angle that is computed in the same way: every layer makes its own, in a kernel of its own."""
    return known.setdefault(_way(node), node)


def _rotation(known: Known, node: Argument) -> Rotation | None:
    found = rotation(node)
    return found and replace(found, cos=_one_of(known, found.cos), sin=_one_of(known, found.sin))


def _way(node: Argument) -> Hashable:
    """How a mask comes about, down to what is not made for masks."""
    if isinstance(node, (list, tuple)):
        return tuple(map(_way, node))
    if not is_call(node, *MAKES_MASKS) and not _counts(node):
        kept: Hashable = node
        return kept
    return (node.target, _way(node.args), tuple((name, str(item)) for name, item in sorted(node.kwargs.items())))


def _counts(node: Argument) -> bool:
    """0, 1, 2 and so on."""
    import torch

    return getattr(node, "op", "") == "call_function" and node.target is torch.ops.prims.iota.default


def arguments(node: Node) -> dict[str, Argument]:
    names = [argument.name for argument in node.target._schema.arguments]
    return {**dict(zip(names, node.args, strict=False)), **node.kwargs}


def _replaced(graph: Graph, node: Node, operators: OpNamespace, known: Known) -> bool:
    given = arguments(node)
    q, k, v = given["query"], given["key"], given["value"]
    bias = given.get("attn_bias", given.get("attn_mask"))
    bias = bias if bias is None else _one_of(known, bias)
    if given.get("is_causal") or given.get("dropout_p") or not _gives_one(node) or not _fits(q, k, bias):
        return False
    scale = given.get("scale")
    scale = 1 / math.sqrt(value(q).shape[-1]) if scale is None else float(scale)
    made = _made(graph, node, operators, Query(q, _rotation(known, q), bias, scale), k, v, known)
    if made is None:
        return False
    for user in list(node.users):
        user.replace_all_uses_with(made)
    return True


def _capped(graph: Graph, node: Node, operators: OpNamespace, known: Known) -> bool:
    """The same for attention that is written out because its scores are capped."""
    import torch

    found = capped_attention(node)
    if found is None:
        return False
    bias = found.bias if found.bias is None else _one_of(known, found.bias)
    if not _fits(found.query, found.key, bias):
        return False
    query = Query(found.query, _rotation(known, found.query), bias, found.scale, found.cap)
    made = _made(graph, node, operators, query, found.key, found.value, known)
    if made is None:
        return False
    with graph.inserting_after(made):
        shaped = graph.call_function(torch.ops.aten.reshape.default, (made, list(value(node).shape)))
    shaped.meta["val"] = value(node)
    node.replace_all_uses_with(shaped)
    return True


def _made(
    graph: Graph, node: Node, operators: OpNamespace, query: Query, k: Node, v: Node, known: Known
) -> Node | None:
    """Our operator before `node`; None where keys and values are not as it takes them."""
    q = query.q
    (keys, _), (values, _) = unrepeated(k), unrepeated(v)
    if value(keys).shape != value(values).shape or value(q).shape[1] % value(keys).shape[1]:
        return None
    new_keys, new_values = _stored(keys), _stored(values)
    if new_keys is not None and new_values is not None and new_keys.position is new_values.position:
        made = _with_store(graph, node, operators, query, new_keys, new_values, known)
    else:
        if not all(_rows_are_dense(value(one)) for one in (keys, values)):
            return None
        # Keys that this graph makes may still be on their way: only caches from outside are read ahead.
        overlaps = is_input(keys) and is_input(values)
        with graph.inserting_before(node):
            made = _query_call(graph, operators, query, keys, values, overlaps)
    made.meta["val"] = value(q).new_empty(value(q).shape)
    return made


def _gives_one(node: Node) -> bool:
    """Only the first result is wanted."""
    return all(user.target is operator.getitem and user.args[1] == 0 for user in node.users if user.users)


def _fits(q: Node, k: Node, bias: Node | None) -> bool:
    queries, keys = value(q), value(k)
    if queries.dim() != 4 or queries.shape[2] != 1 or queries.dtype != keys.dtype or queries.stride(-1) != 1:
        return False
    size = queries.shape[-1]
    if (size < 16 and queries.device.type != "cpu") or size > 256:
        return False
    return bias is None or (value(bias).is_floating_point() and value(bias).shape[-1] == keys.shape[2])


def _rows_are_dense(cache: Tensor) -> bool:
    """(batch, heads, length, size) with the last two axes in order."""
    return bool(cache.stride(-1) == 1 and cache.stride(-2) == cache.shape[-1])


def _stored(node: Argument) -> Stored | None:
    if not is_call(node, "index_put") or (len(node.args) > 3 and node.args[3]):
        return None
    cache, places, new = node.args[:3]
    if len(places) != 3 or places[0] is not None or places[1] is not None or getattr(cache, "op", "") != "placeholder":
        return None
    copies = [user for user in node.users if is_call(user, "copy_")]
    if len(copies) != 1 or copies[0].args[0] is not cache or copies[0].users or set(cache.users) != {node, copies[0]}:
        return None
    if len(node.users) != 2 or not _rows_are_dense(value(cache)) or value(places[2]).numel() != 1:
        return None
    if value(new).dim() != 4 or value(new).shape[2] != 1 or value(new).dtype != value(cache).dtype:
        return None
    return Stored(cache, places[2], new, copies[0])


def _with_store(
    graph: Graph, node: Node, operators: OpNamespace, query: Query, keys: Stored, values: Stored, known: Known
) -> Node:
    q, turned, k_new = query.q, query.turned, keys.written
    k_turned = _rotation(known, k_new)
    cos = sin = None
    more: dict[str, Argument] = {}
    same = turned is not None and k_turned is not None and _angles(turned) == _angles(k_turned)
    if turned is not None and k_turned is not None and same and _dense(turned.x) and _dense(k_turned.x):
        q, k_new, cos, sin = turned.x, k_turned.x, turned.cos, turned.sin
        more |= {"neighbours": True} if turned.neighbours else {}
    norms = head_norm(q), head_norm(k_new)
    with graph.inserting_before(node):
        weights: tuple[Node | None, Node | None] = (None, None)
        epsilon = 0.0
        if norms[0] is not None and norms[1] is not None and _kind(norms[0]) == _kind(norms[1]):
            q, k_new = _before_norm(graph, q, norms[0]), _before_norm(graph, k_new, norms[1])
            weights, epsilon = (norms[0].weight, norms[1].weight), norms[0].epsilon
            more |= {"plus": norms[0].plus} if norms[0].plus else {}
        new = [_last_axis_dense(graph, one) for one in (k_new, values.written)]
        args = (q, *new, keys.cache, values.cache, keys.position, query.bias, cos, sin, query.scale)
        args += (*weights, epsilon, query.cap, True)
        made = graph.call_function(operators.attend_and_store.default, args, more)
    for copy in (keys.copy, values.copy):
        graph.erase_node(copy)
    return made


def _angles(found: Rotation) -> tuple[Node, Node, bool]:
    return found.cos, found.sin, found.neighbours


def _kind(norm: Norm) -> tuple[float, float]:
    return norm.epsilon, norm.plus


def _before_norm(graph: Graph, node: Node, norm: Norm) -> Node:
    """What the norm was taken of, in the order of axes of its result."""
    import torch

    if value(norm.x).shape == value(node).shape and not is_call(node, "permute"):
        return norm.x
    made = graph.call_function(torch.ops.aten.permute.default, (norm.x, [0, 2, 1, 3]))
    made.meta["val"] = value(norm.x).permute(0, 2, 1, 3)
    return made


def _dense(node: Node) -> bool:
    return bool(value(node).stride(-1) == 1)


def _last_axis_dense(graph: Graph, node: Node) -> Node:
    import torch

    if _dense(node):
        return node
    made = graph.call_function(torch.ops.aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
    made.meta["val"] = value(node).contiguous()
    return made


def _query_call(graph: Graph, operators: OpNamespace, query: Query, keys: Node, values: Node, overlaps: bool) -> Node:
    q, turned = query.q, query.turned
    cos = sin = None
    more: dict[str, Argument] = {}
    if turned is not None and _dense(turned.x):
        q, cos, sin = turned.x, turned.cos, turned.sin
        more = {"neighbours": True} if turned.neighbours else {}
    args = (q, keys, values, query.bias, cos, sin, query.scale, None, 0.0, query.cap, overlaps)
    return graph.call_function(operators.attend.default, args, more)
