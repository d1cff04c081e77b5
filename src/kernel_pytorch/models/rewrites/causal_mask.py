"""A mask that hides what comes later, and nothing else, as is_causal=True: flash attention then serves the call.

Only a mask that is made from constants, buffers and shapes: one that comes with the inputs may be another tomorrow.
The rewritten forward holds for the shapes of the example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.chains import erase_upwards
from kernel_pytorch.models.fx.live_values import ALL, LiveValues, from_metadata
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.rewrites.repeat_kv import attention_arguments, grouped_attention, is_attention

if TYPE_CHECKING:
    from torch import fx

# As in the rewrite of attention: what is added to a score to hide it for certain.
_SURELY_MASKED = -1e4


def edit(traced: TracedForward) -> list[Change]:
    """Replace causal masks of attention calls by the flag."""
    changes = []
    for node in list(traced.graph.nodes):
        if not is_attention(node) and node.target is not grouped_attention:
            continue
        given = attention_arguments(node)
        mask = given.get("attn_mask")
        if mask is None or given.get("is_causal") or not _is_constant(mask) or not is_causal(traced, mask):
            continue
        given.update(attn_mask=None, is_causal=True)
        with traced.graph.inserting_before(node):
            new = traced.graph.call_function(node.target, (), given)
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        erase_upwards(traced.graph, mask)
        changes.append(Change(traced.where or "the model", "causal mask as is_causal=True"))
    if changes:
        traced.dependence = ALL
    return changes


def _is_constant(node: fx.Node) -> bool:
    """Made from buffers, constants and shapes only."""
    if node.op == "get_attr" or from_metadata(node):
        return True
    # zeros_like(mask, dtype=query.dtype) and mask.type_as(query) read only the dtype of the second.
    inputs = node.all_input_nodes
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    if name in ("type_as", "additive_mask"):
        inputs = inputs[:1]
    return node.op in ("call_function", "call_method") and bool(inputs) and all(map(_is_constant, inputs))


def is_causal(traced: TracedForward, mask: fx.Node) -> bool:
    """Does this mask, on the example, hide what comes later and nothing else?"""
    import torch

    if traced.example is None:
        return False
    value = _value(traced, mask)
    if not isinstance(value, torch.Tensor) or value.dim() < 2 or value.shape[-1] != value.shape[-2]:
        return False
    seen = torch.ones(value.shape[-2:], dtype=torch.bool, device=value.device).tril().expand(value.shape)
    if value.dtype == torch.bool:
        return bool(torch.equal(value, seen))
    return bool((value[seen] == 0).all() and (value[~seen] <= _SURELY_MASKED).all())


def _value(traced: TracedForward, wanted: Any) -> Any:
    """What a node gives on the example."""
    needed: set[Any] = set()
    waiting = [wanted]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += node.all_input_nodes
    live = LiveValues(traced.module, list(traced.example or ()))
    for node in traced.graph.nodes:
        if node in needed or node.op == "placeholder":
            live.run(node)
    return live.values[wanted]


REWRITE = Rewrite(
    name="causal mask",
    level="balanced",
    effect="flash attention in place of kernels that read a mask",
    edit=edit,
    is_fusion=True,
)
