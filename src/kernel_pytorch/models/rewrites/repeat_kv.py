"""Keys and values that are repeated for each group of query heads, handed to attention as they are.

The repeats are copies: `groups` times the memory traffic of the cache in every step of a decoder. Flash attention
takes fewer heads of keys than of queries. With a mask it does not serve; there the queries of a group become rows of
one head, which is the same sum over keys, and the mask is repeated in place of keys and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.chains import applied_again, axis_before, erase_upwards
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward

if TYPE_CHECKING:
    from torch import Tensor, fx

_PARAMETERS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


def edit(traced: TracedForward) -> list[Change]:
    """Replace attention over repeated keys and values."""
    changes = []
    for node in list(traced.graph.nodes):
        if not is_attention(node) or node.kwargs.get("enable_gqa"):
            continue
        given = attention_arguments(node)
        repeated = given["key"], given["value"]
        keys, values = (_unrepeated(traced, given[name]) for name in ("key", "value"))
        if keys is None and values is None:
            continue
        if keys is None or values is None or keys[2] != values[2]:
            traced.refuse(traced.where, "keys and values are repeated in different ways")
            continue
        with traced.graph.inserting_before(node):
            for name, (start, chain, _) in (("key", keys), ("value", values)):
                given[name] = applied_again(traced.graph, chain, start)
            new = traced.graph.call_function(grouped_attention, (), given)
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        for item in repeated:
            erase_upwards(traced.graph, item)
        what = f"keys and values no longer repeated {keys[2]} times"
        changes.append(Change(traced.where or "the model", what))
    return changes


def grouped_attention(
    query: Tensor,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Attention of (batch, heads, length, size) queries over keys and values with fewer heads."""
    from torch.nn import functional

    attention = functional.scaled_dot_product_attention
    heads, groups = key.shape[1], query.shape[1] // key.shape[1]
    if groups == 1:
        return attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    if attn_mask is None:
        return attention(query, key, value, None, dropout_p, is_causal, scale=scale, enable_gqa=True)
    length = query.shape[2]
    if (attn_mask.dim() > 2 and attn_mask.shape[-3] != 1) or length > 2 * query.shape[3]:
        # A mask for each head cannot be shared by rows; a long one costs more to repeat than keys and values.
        key, value = (item.repeat_interleave(groups, dim=1) for item in (key, value))
        return attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    rows = query.unflatten(1, (heads, groups)).flatten(2, 3)
    if attn_mask.shape[-2] != 1:
        attn_mask = attn_mask.repeat(*[1] * (attn_mask.dim() - 2), groups, 1)
    result = attention(rows, key, value, attn_mask, dropout_p, scale=scale)
    return result.unflatten(2, (groups, length)).flatten(1, 2)


def is_attention(node: fx.Node) -> bool:
    """Is it a call of torch's attention?"""
    from torch.nn import functional

    return bool(node.op == "call_function" and node.target is functional.scaled_dot_product_attention)


def attention_arguments(node: fx.Node) -> dict[str, Any]:
    """The arguments of such a call by name."""
    return {**dict(zip(_PARAMETERS, node.args, strict=False)), **node.kwargs}


def _unrepeated(traced: TracedForward, node: fx.Node) -> tuple[Any, list[Any], int] | None:
    """What is repeated along the axis of heads, the operations after that, and how often."""
    shape = traced.value(node).shape
    if shape is None or len(shape) != 4:
        return None
    axis = 1
    chain: list[Any] = []
    while True:
        before = _repeated(traced, node, axis)
        if before is not None:
            heads, more = (traced.value(item).shape for item in (before, node))
            assert heads is not None and more is not None
            return before, chain, more[axis] // heads[axis]
        moved = axis_before(node, axis, len(shape)) if getattr(node, "args", ()) else None
        if moved is None:
            return None
        chain.append(node)
        axis, node = moved, node.args[0]


def _repeated(traced: TracedForward, node: fx.Node, axis: int) -> Any:
    """The node that this one repeats item by item along an axis, or None."""
    after = traced.value(node).shape
    if after is None:
        return None
    if operation(node) == "repeat_interleave":
        source, repeats = node.args[0], argument(node, 1, "repeats")
        known = traced.value(source).shape
        if not traced.value(repeats).number or known is None:
            return None
        return source if argument(node, 2, "dim") in (axis, axis - len(known)) else None
    if operation(node) not in ("reshape", "view", "flatten"):
        return None
    expanded = node.args[0]
    if operation(expanded) not in ("expand", "broadcast_to"):
        return None
    opened = expanded.args[0]
    source = opened.args[0] if operation(opened) in ("unsqueeze", "getitem") else None
    shapes = [traced.value(item).shape for item in (source, opened, expanded)]
    if None in shapes:
        return None
    before, one, many = (list(item or ()) for item in shapes)
    repeats = many[axis + 1] if len(many) == len(before) + 1 else 0
    fits = (
        one == [*before[: axis + 1], 1, *before[axis + 1 :]]
        and many == [*before[: axis + 1], repeats, *before[axis + 1 :]]
        and list(after) == [*before[:axis], before[axis] * repeats, *before[axis + 1 :]]
    )
    return source if fits else None


REWRITE = Rewrite(
    name="repeat_kv",
    level="balanced",
    effect="keys and values are read once per group of heads, and no copies of them are made",
    edit=edit,
    is_fusion=True,
)
