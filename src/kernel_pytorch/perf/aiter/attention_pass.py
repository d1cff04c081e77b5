"""Fused attention of a graph through aiter's operator: heads not repeated, laid out (batch, length, heads, size)."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from kernel_pytorch.perf.aiter.installed import ATTENTION_ARGUMENTS, AiterMissing
from kernel_pytorch.perf.aiter.installed import operator as aiter_operator
from kernel_pytorch.perf.decode.attention_pass import FUSED, arguments
from kernel_pytorch.perf.decode.patterns import is_call, unrepeated, value

if TYPE_CHECKING:
    from torch._ops import OpOverload
    from torch.fx import Graph, Node

NAME = "aiter attention"


def aiter_attention(graph: Graph) -> int:
    """Replace what aiter serves; gives how many. Nothing where aiter is not there."""
    try:
        attend = aiter_operator("mha_fwd", ATTENTION_ARGUMENTS)
    except AiterMissing:
        return 0
    return sum(_replaced(graph, node, attend) for node in list(graph.nodes) if is_call(node, *FUSED))


def _replaced(graph: Graph, node: Node, attend: OpOverload) -> bool:
    import torch

    given = arguments(node)
    q, k, v = given["query"], given["key"], given["value"]
    bias = given.get("attn_bias", given.get("attn_mask"))
    queries, keys = value(q), value(k)
    causal = bool(given.get("is_causal"))
    if bias is not None or given.get("dropout_p") or queries.dtype not in (torch.bfloat16, torch.float16):
        return False
    # SDPA's causal mask starts at the top left, aiter's ends at the bottom right: the same only for a square.
    if (causal and queries.shape[2] != keys.shape[2]) or queries.shape[-1] > 256 or queries.shape[-1] % 8:
        return False
    if not all(user.target is operator.getitem and user.args[1] == 0 for user in node.users if user.users):
        return False
    (k, _), (v, _) = unrepeated(k), unrepeated(v)
    scale = given.get("scale")
    scale = 1 / math.sqrt(queries.shape[-1]) if scale is None else float(scale)
    aten = torch.ops.aten
    with graph.inserting_before(node):

        def dense(one: Node) -> Node:
            turned = graph.call_function(aten.permute.default, (one, [0, 2, 1, 3]))
            turned.meta["val"] = value(one).permute(0, 2, 1, 3)
            made = graph.call_function(aten.clone.default, (turned,), {"memory_format": torch.contiguous_format})
            made.meta["val"] = turned.meta["val"].contiguous()
            return made

        rows = [dense(one) for one in (q, k, v)]
        call = graph.call_function(attend, (*rows, 0.0, scale, causal, -1, -1, 0, False, False))
        call.meta["val"] = attend(*(value(one) for one in rows), 0.0, scale, causal, -1, -1, 0, False, False)
        first = graph.call_function(operator.getitem, (call, 0))
        first.meta["val"] = call.meta["val"][0]
        back = graph.call_function(aten.permute.default, (first, [0, 2, 1, 3]))
        back.meta["val"] = first.meta["val"].permute(0, 2, 1, 3)
    for user in list(node.users):
        user.replace_all_uses_with(back)
    return True
