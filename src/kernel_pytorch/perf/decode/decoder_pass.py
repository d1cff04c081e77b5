"""The pass that makes one kernel of a whole decoder: after `one_row`, where its five operators a layer stand in line.

Every step must be there, in order, and nothing else may want to see what is between them; else the graph stays as is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.ops import register
from kernel_pytorch.perf.decode.patterns import is_call, through_views, value

if TYPE_CHECKING:
    from torch._ops import _OpNamespace as OpNamespace
    from torch.fx import Graph, Node

ONE_KERNEL = "one kernel"
CAP = 13  # where attend_and_store has it
MOVES_NOTHING = (
    "reshape",
    "view",
    "_unsafe_view",
    "unsqueeze",
    "squeeze.dim",
    "alias",
    "permute",
    "clone",
    "slice.Tensor",
)


@dataclass(frozen=True)
class _Layer:
    """The operators of one layer."""

    qkv: Node
    attention: Node
    output: Node
    gated: Node
    down: Node

    @property
    def weights(self) -> list[Node]:
        return [*self.qkv.args[1], *self.output.args[1], *self.gated.args[1:3], *self.down.args[1]]

    @property
    def norms(self) -> list[Node]:
        return [self.qkv.args[2], self.gated.args[3]]

    @property
    def caches(self) -> list[Node]:
        return list(self.attention.args[3:5])


def one_kernel(graph: Graph) -> int:
    """Replace a decoder by one operator; gives 1, or 0 where there is none that the kernel can take."""
    operators = register()
    steps = [node for node in graph.nodes if getattr(node.target, "namespace", "") == "kpt_decode"]
    layers = _layers(steps, operators)
    if layers is None:
        return 0
    head = steps[-1]
    start = through_views(layers[0].qkv.args[0])
    first = layers[0].attention.args
    weights = [one for layer in layers for one in layer.weights]
    norms = [*(one for layer in layers for one in layer.norms), head.args[2]]
    caches = [one for layer in layers for one in layer.caches]
    if not _can_take(start, weights, norms, caches, head.args[1][0], first[6], first[7]):
        return 0
    position, bias, cos, sin, scale = first[5:10]
    with graph.inserting_before(head):
        args = (
            _as_row(graph, start),
            weights,
            norms,
            caches,
            head.args[1][0],
            position,
            bias,
            cos,
            sin,
            scale,
            head.args[3],
        )
        made = graph.call_function(operators.decoder.default, args)
    made.meta["val"] = value(head)
    head.replace_all_uses_with(made)
    graph.erase_node(head)
    for layer in reversed(layers):
        for node in (layer.down, layer.gated, layer.output, layer.attention, layer.qkv):
            _erase(graph, node)
    graph.eliminate_dead_code()
    return 1


def _layers(steps: list[Node], operators: OpNamespace) -> list[_Layer] | None:
    """The layers of a decoder, if these steps are that and nothing more."""
    wanted = [operators.row_products, operators.attend_and_store, operators.row_products, operators.row_gated]
    order = [one.default for one in (*wanted, operators.row_products)]
    if len(steps) % 5 != 1 or len(steps) < 6:
        return None
    layers = [_Layer(*steps[at : at + 5]) for at in range(0, len(steps) - 1, 5)]
    head = steps[-1]
    if head.target is not order[0] or any(
        [node.target for node in steps[at : at + 5]] != order for at in _starts(steps)
    ):
        return None
    if not _is_product(head, matrices=1, has_norm=True) or head.args[5] is not None:
        return None
    followers = [*({one.qkv, one.output} for one in layers[1:]), {head}]
    for layer, followed_by in zip(layers, followers, strict=True):
        if not _hangs_together(layer, layers[0], head.args[3]) or _readers(layer.down) != followed_by:
            return None
    reads = [through_views(one.args[0]) for one in (*(layer.qkv for layer in layers[1:]), head)]
    return layers if reads == [layer.down for layer in layers] else None


def _starts(steps: list[Node]) -> range:
    return range(0, len(steps) - 1, 5)


def _is_product(node: Node, matrices: int, has_norm: bool) -> bool:
    return len(node.args[1]) == matrices and (node.args[2] is not None) == has_norm and not node.args[4]


def _hangs_together(layer: _Layer, first: _Layer, epsilon: float) -> bool:
    """Each step reads what the one before it made, the residual goes around it, and nobody else looks on."""
    row = through_views(layer.qkv.args[0])
    shaped = (
        _is_product(layer.qkv, matrices=3, has_norm=True)
        and _is_product(layer.output, matrices=1, has_norm=False)
        and _is_product(layer.down, matrices=1, has_norm=False)
        and layer.qkv.args[5] is None
        and layer.gated.args[3] is not None
        and {layer.qkv.args[3], layer.gated.args[4]} == {epsilon}
    )
    if not shaped or layer.output.args[5] is None or layer.down.args[5] is None:
        return False
    sizes = [value(one).shape[0] for one in layer.qkv.args[1]]
    ends = [sum(sizes[: number + 1]) for number in range(3)]
    parts = [_part(one) for one in layer.attention.args[:3]]
    if parts != [(layer.qkv, end - size, end) for size, end in zip(sizes, ends, strict=True)]:
        return False
    # The position may be reshaped anew in every layer; mask, cosine and sine are the same nodes.
    theirs, ours = first.attention.args, layer.attention.args
    if (
        through_views(theirs[5]) is not through_views(ours[5])
        or theirs[6:10] != ours[6:10]
        or ours[7] is None
        or ours[10] is not None
        or ours[CAP] != 0.0
        or value(ours[7]).numel() != value(ours[0]).shape[-1]  # only the first of a head is rotated
    ):
        return False
    return (
        _through_heads(layer.output.args[0]) is layer.attention
        and through_views(layer.output.args[5]) is row
        and through_views(layer.gated.args[0]) is layer.output
        and through_views(layer.down.args[0]) is layer.gated
        and through_views(layer.down.args[5]) is layer.output
        and _readers(layer.qkv) == {layer.attention}
        and _readers(layer.attention) == {layer.output}
        and _readers(layer.output) == {layer.gated, layer.down}
        and _readers(layer.gated) == {layer.down}
    )


def _through_heads(node: Node) -> Node:
    """Behind reshapes and the exchange of two axes of which one has a single element."""
    while True:
        inner = through_views(node)
        swaps = is_call(inner, "permute") and list(inner.args[1]) == [0, 2, 1, 3] and 1 in value(inner).shape[1:3]
        if not swaps and not is_call(inner, "clone"):
            return inner
        node = inner.args[0]


def _part(node: Node) -> tuple[Node, int, int] | None:
    """(product, from, to) of a query, key or value."""
    inner = _through_heads(node)
    if not is_call(inner, "slice.Tensor") or len(inner.args) != 4 or inner.args[1] != 1:
        return None
    product, _, start, end = inner.args
    return product, start, end


def _readers(node: Node) -> set[Node]:
    """Who uses a node, through reshapes, slices and exchanged axes."""
    found = set()
    for user in node.users:
        if is_call(user, *MOVES_NOTHING):
            found |= _readers(user)
        else:
            found.add(user)
    return found


def _can_take(
    start: Node, weights: list[Node], norms: list[Node], caches: list[Node], head: Node, bias: Node | None, cos: Node
) -> bool:
    """Whether the kernel suits these tensors. On a CPU the operator computes the same in plain torch, for any shape."""
    from kernel_pytorch.perf.decode import one_kernel as vendor

    device = value(start).device
    if device.type == "cpu":
        return True
    kinds = {value(one).dtype for one in (start, *weights, *norms, *caches, head, cos)}
    if device.type != "cuda" or vendor.why_not_here(device) is not None:
        return False
    if len(kinds) != 1 or not kinds <= set(vendor.element_types()):
        return False
    if bias is not None and (value(bias).dim() != 4 or value(bias).shape[0] != 1):
        return False
    if not all(value(one).is_contiguous() for one in (*weights, *caches, head)):
        return False
    matrices, cached = ([value(one) for one in some] for some in (weights, caches))
    return vendor.takes(matrices, cached, value(head), None if bias is None else value(bias), device)


def _as_row(graph: Graph, start: Node) -> Node:
    import torch

    row = graph.call_function(torch.ops.aten.reshape.default, (start, [1, value(start).numel()]))
    row.meta["val"] = value(start).reshape(1, -1)
    return row


def _erase(graph: Graph, node: Node) -> None:
    """A step and what only reshaped its result: operators with side effects are not dead code to anybody else."""
    for user in list(node.users):
        _erase(graph, user)
    graph.erase_node(node)
