"""cross_entropy of the scores that a Linear gives: the product and the loss a few rows at a time.

Only where nobody else wants the scores: a model that returns them beside the loss needs all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.live_values import from_metadata
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.kernels.chunked_loss import MOST_SCORES, NO_INDEX, linear_cross_entropy

if TYPE_CHECKING:
    from torch import Tensor, fx

RESHAPES = ("view", "reshape", "flatten", "contiguous", "cast")


def loss_of(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, ignore_index: int, reduction: str, most: int
) -> Tensor:
    """The loss in chunks; in torch's own two steps where autocast chooses the types or labels are no indices."""
    import torch

    rows, names = hidden.reshape(-1, hidden.shape[-1]), labels.reshape(-1)
    if torch.is_autocast_enabled(hidden.device.type) or names.is_floating_point() or len(rows) != len(names):
        scores = torch.nn.functional.linear(rows, weight, bias)
        given = labels if labels.is_floating_point() else names
        return torch.nn.functional.cross_entropy(scores.float(), given, ignore_index=ignore_index, reduction=reduction)
    return linear_cross_entropy(rows, weight, bias, names, ignore_index, reduction, most)


def _edit(traced: TracedForward, most: int) -> list[Change]:
    from torch.nn import functional

    graph, changes = traced.graph, []
    for node in list(graph.nodes):
        if getattr(node, "op", "") != "call_function" or node.target is not functional.cross_entropy:
            continue
        linear, reason = _linear_behind(traced, node, most)
        reduction = argument(node, 6, "reduction", "mean")
        smoothing = argument(node, 7, "label_smoothing", 0.0)
        usual = argument(node, 2, "weight") is None and not smoothing and reduction in ("mean", "sum")
        usual = usual and argument(node, 3, "size_average") is None and argument(node, 5, "reduce") is None
        if linear is None or not usual:
            traced.refuse(traced.where, reason or "this cross entropy has weights, smoothing or no reduction")
            continue
        with graph.inserting_before(node):
            weight = graph.get_attr(f"{linear.target}.weight")
            module = traced.submodule(linear)
            has_bias = getattr(module, "bias", None) is not None
            bias = graph.get_attr(f"{linear.target}.bias") if has_bias else None
            labels, ignored = argument(node, 1, "target"), argument(node, 4, "ignore_index", NO_INDEX)
            given = (argument(linear, 0, "input"), weight, bias, labels, ignored, reduction, most)
            new = graph.call_function(loss_of, given)
        node.replace_all_uses_with(new)
        unread = _leading_to(linear, node)
        for one in (node, *(one for one in reversed(list(graph.nodes)) if one in unread)):
            graph.erase_node(one)
        changes.append(Change(traced.where or "the model", "last product and cross entropy in chunks"))
    return changes


def _leading_to(start: fx.Node, end: fx.Node) -> set[fx.Node]:
    """A node and all that is computed from it, up to the loss."""
    found, waiting = {start}, [start]
    while waiting:
        new = [one for one in waiting.pop().users if one is not end and one not in found]
        found.update(new)
        waiting += new
    return found


def _linear_behind(traced: TracedForward, loss: fx.Node, most: int) -> tuple[fx.Node | None, str]:
    """The call of a Linear whose scores, reshaped, go into this loss and nowhere else; only their shape may."""
    import torch

    scores = argument(loss, 0, "input")
    node, chain = scores, {scores}
    while operation(node) in RESHAPES:
        node = argument(node, 0, "input")
        chain.add(node)
    module = traced.submodule(node) if hasattr(node, "op") else None
    if type(module) is not torch.nn.Linear or not is_plain(module) or len(node.args) != 1:
        return None, "the scores are not those of a Linear"
    if not all(one in chain or from_metadata(one) for one in _leading_to(node, loss)):
        return None, "the scores are also used elsewhere"
    first, last = traced.value(node).shape, traced.value(scores).shape
    if first is None or last is None or len(last) != 2 or last[-1] != first[-1]:
        return None, "the scores have an unknown shape, or are not rows of words"
    if last[0] * last[1] <= most:
        return None, f"{last[0]} rows of {last[1]} scores fit into one chunk"
    return node, ""


def chunked_loss(most: int = MOST_SCORES) -> Rewrite:
    """With chunks of so many scores."""
    return Rewrite(
        name="chunked loss",
        level="aggressive",
        effect="memory for the scores of a few rows instead of all",
        edit=partial(_edit, most=most),
        is_fusion=True,
        available=lambda model, job: None if model.training else "the model is in eval mode",
    )


REWRITE = chunked_loss()
