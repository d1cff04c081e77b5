"""The pass that puts the kernel of a few rows into Inductor's graph: products of 2 to 16 rows with a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.passes import weight_of
from kernel_pytorch.perf.decode.patterns import is_call, value
from kernel_pytorch.perf.narrow.launch import MOST_ROWS, PLAIN, register

if TYPE_CHECKING:
    from torch.fx import Graph, Node

FEW_ROWS = "few rows"


def few_rows(graph: Graph) -> int:
    """Replace what can be; gives how many."""
    operators = register()
    placed = 0
    for node in list(graph.nodes):
        if not _fits(node):
            continue
        bias = node.args[0] if len(node.args) == 3 else None
        with graph.inserting_before(node):
            args = (node.args[-2], weight_of(node), None, bias, PLAIN)
            made = graph.call_function(operators.product.default, args)
        made.meta["val"] = value(node)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        placed += 1
    return placed


def _fits(node: Node) -> bool:
    import torch

    if not is_call(node, "mm", "addmm") or node.kwargs or value(node) is None:
        return False
    result, row, matrix = (value(one) for one in (node, *node.args[-2:]))
    if not isinstance(result.shape[0], int) or not 2 <= result.shape[0] <= MOST_ROWS:
        return False
    kinds = {result.dtype, row.dtype, matrix.dtype}
    if len(kinds) != 1 or not kinds <= {torch.bfloat16, torch.float16}:
        return False
    if len(node.args) == 3 and (value(node.args[0]).dim() != 1 or value(node.args[0]).dtype != result.dtype):
        return False
    return weight_of(node) is not None
