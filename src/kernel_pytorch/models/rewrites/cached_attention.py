"""A decoder without a cache, rewritten to see one token at a time.

Causal attention reads keys and values from a store; what a forward derives from the number of tokens (positions that
are counted, tables that are cut to the length) is taken at the position of the tokens instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.live_values import RANKS, from_metadata
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, evaluate
from kernel_pytorch.models.rewrites import attention, repeat_kv
from kernel_pytorch.models.rewrites.causal_mask import is_causal
from kernel_pytorch.models.rewrites.key_values import KeyValueStore
from kernel_pytorch.models.rewrites.repeat_kv import attention_arguments, grouped_attention, is_attention

if TYPE_CHECKING:
    from torch import Tensor

STORE = "key_value_store"
"""The attribute under which rewritten modules find the store."""


def rewrite_for(tokens: int) -> Rewrite:
    """The rewrite that makes modules use a store, where the example has so many tokens."""
    sites: list[Any] = []

    def edit(traced: TracedForward) -> list[Change]:
        assert traced.example is not None
        changes = [*attention.edit(traced)]
        traced.values = evaluate(traced.module, traced.graph, list(traced.example))
        changes += repeat_kv.edit(traced)
        if any(change.drops_output for change in changes):
            traced.refuse(traced.where, "attention weights are returned")
        found = [*_attentions(traced, sites), *_positions(traced, tokens), *_tables(traced, tokens)]
        # Proven at other lengths: branches on the length only decide about masks, which are gone.
        traced.dependence = min(traced.dependence, RANKS)
        return [*changes, *found]

    return Rewrite("static cache", "balanced", "one token's work per token", edit=edit, drops_unused_outputs=True)


def attend(store: KeyValueStore, place: int, query: Tensor, key: Any, value: Any, scale: float | None = None) -> Any:
    """Attention of new tokens over all places they see."""
    keys, values = store.update(key, value, place)
    return grouped_attention(query, keys, values, attn_mask=store.seen, scale=scale)


def positions(store: KeyValueStore, like: Any) -> Any:
    """The positions of the new tokens, in the dtype of what counted them."""
    return store.position.to(like.dtype)


def rows_at(store: KeyValueStore, table: Any, axis: int) -> Any:
    """The rows of a table that belong to the new tokens."""
    return table.index_select(axis, store.position)


def _attentions(traced: TracedForward, sites: list[Any]) -> list[Change]:
    changes = []
    for node in list(traced.graph.nodes):
        if not is_attention(node) and node.target is not grouped_attention:
            continue
        given = attention_arguments(node)
        mask = given.get("attn_mask")
        if not given.get("is_causal") and (mask is None or not is_causal(traced, mask)):
            traced.refuse(traced.where, "attention that is not causal")
            continue
        sites.append(node)
        with traced.graph.inserting_before(node):
            store = traced.graph.get_attr(STORE)
            args = (store, len(sites) - 1, given["query"], given["key"], given["value"])
            new = traced.graph.call_function(attend, args, {"scale": given.get("scale")})
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        changes.append(Change(traced.where or "the model", "attention over a static cache"))
    return changes


def _positions(traced: TracedForward, tokens: int) -> list[Change]:
    import torch

    changes = []
    for node in list(traced.graph.nodes):
        if node.target is not torch.arange or traced.value(node).shape != (tokens,):
            continue
        with traced.graph.inserting_after(node):
            store = traced.graph.get_attr(STORE)
        with traced.graph.inserting_after(store):
            new = traced.graph.call_function(positions, (store, node))
        node.replace_all_uses_with(new, delete_user_cb=lambda user, new=new: user is not new)
        changes.append(Change(traced.where or "the model", "positions of the tokens in place of a count"))
    return changes


def _tables(traced: TracedForward, tokens: int) -> list[Change]:
    """table[:length]: the rows of the tokens."""
    changes = []
    for node in list(traced.graph.nodes):
        if getattr(node.target, "__name__", "") != "getitem" or getattr(node.args[0], "op", "") != "get_attr":
            continue
        index = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
        cut = [axis for axis, item in enumerate(index) if _is_cut(item)]
        whole = all(isinstance(item, slice) for item in index)
        shape = traced.value(node).shape or ()
        if len(cut) != 1 or not whole or cut[0] >= len(shape) or shape[cut[0]] != tokens or not node.users:
            continue
        open_index = tuple(slice(None) if axis == cut[0] else item for axis, item in enumerate(index))
        with traced.graph.inserting_before(node):
            store = traced.graph.get_attr(STORE)
            table = traced.graph.call_function(node.target, (node.args[0], open_index))
            new = traced.graph.call_function(rows_at, (store, table, cut[0]))
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        changes.append(Change(traced.where or "the model", "rows of a table at the positions of the tokens"))
    return changes


def _is_cut(item: Any) -> bool:
    if not isinstance(item, slice) or item.start not in (None, 0) or item.step is not None:
        return False
    return hasattr(item.stop, "op") and from_metadata(item.stop)
