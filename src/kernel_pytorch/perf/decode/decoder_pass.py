"""The pass that makes one kernel of a whole decoder: after `one_row`, where its five operators a layer stand in line.

Every step must be there, in order, and nothing else may want to see what is between them; else the graph stays as is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.form import SILU, Extras, Form
from kernel_pytorch.perf.decode.ops import register
from kernel_pytorch.perf.decode.patterns import Norm, is_call, rms_norm, through_views, value

if TYPE_CHECKING:
    from torch._ops import _OpNamespace as OpNamespace
    from torch.fx import Graph, Node
    from torch.fx.node import Argument

ONE_KERNEL = "one kernel"
CAP = 13  # where attend_and_store has it
MOST_NODES = 64  # between a product and the sum it goes into
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
    """The operators of one layer, and the nodes that are the row after attention and after the MLP: the products
    themselves, or the additions of their norms."""

    qkv: Node
    attention: Node
    output: Node
    gated: Node
    down: Node
    middle: Node
    end: Node
    after_norms: tuple[Norm, ...] = ()

    @property
    def weights(self) -> list[Node]:
        return [*self.qkv.args[1], *self.output.args[1], *self.gated.args[1:3], *self.down.args[1]]

    @property
    def norms(self) -> list[Node]:
        return [self.qkv.args[2], self.gated.args[3]]

    @property
    def caches(self) -> list[Node]:
        return list(self.attention.args[3:5])

    @property
    def seen(self) -> tuple[Node | None, Node, Node]:
        """Mask, cosine and sine."""
        bias, cos, sin = self.attention.args[6:9]
        return bias, cos, sin

    @property
    def head_norms(self) -> list[Node]:
        return [one for one in self.attention.args[10:12] if one is not None]

    @property
    def form(self) -> Form:
        return Form(
            str(self.gated.kwargs.get("active", SILU)),
            float(self.attention.args[CAP]),
            _plus(self.qkv),
            bool(self.attention.kwargs.get("neighbours", False)),
        )


def _plus(node: Node) -> float:
    return float(node.kwargs.get("plus", 0.0))


def one_kernel(graph: Graph) -> int:
    """Replace a decoder by one operator; gives 1, or 0 where there is none that the kernel can take."""
    operators = register()
    steps = [node for node in graph.nodes if getattr(node.target, "namespace", "") == "kpt_decode"]
    layers = _layers(steps, operators)
    if layers is None:
        return 0
    head = steps[-1]
    start = through_views(layers[0].qkv.args[0])
    weights = [one for layer in layers for one in layer.weights]
    norms = [*(one for layer in layers for one in layer.norms), head.args[2]]
    caches = [one for layer in layers for one in layer.caches]
    usual = _usual(layers)
    extras = _extras(layers, usual)
    if not _can_take((start, weights, norms, caches, head.args[1][0]), usual, extras):
        return 0
    position, scale = layers[0].attention.args[5], layers[0].attention.args[9]
    form = extras.form
    with graph.inserting_before(head):
        args: tuple[Argument, ...]
        args = (_as_row(graph, start), weights, norms, caches, head.args[1][0], position, *usual, scale, head.args[3])
        if not extras.is_plain:
            lists = (extras.biases, extras.head_norms, extras.after_norms, extras.other, extras.local)
            args += (*lists, form.gate, form.cap, form.norm_plus, form.neighbours)
        made = graph.call_function(operators.decoder.default, args)
    made.meta["val"] = value(head)
    head.replace_all_uses_with(made)
    graph.erase_node(head)
    for layer in reversed(layers):
        for node in (layer.down, layer.gated, layer.output, layer.attention, layer.qkv):
            _erase(graph, node)
    graph.eliminate_dead_code()
    return 1


def _usual(layers: list[_Layer]) -> tuple[Node | None, Node, Node]:
    """What most layers see."""
    return Counter(layer.seen for layer in layers).most_common(1)[0][0]


def _extras(layers: list[_Layer], usual: tuple[Node | None, Node, Node]) -> Extras:
    """Nodes in the place of tensors."""
    local = [number for number, layer in enumerate(layers) if layer.seen != usual]
    other: list[Node] = []
    if local:
        bias, cos, sin = layers[local[0]].seen
        other = [cos, sin, *([] if bias is None else [bias])]
    return Extras(
        [one for layer in layers for one in layer.qkv.args[4]],
        [one for layer in layers for one in layer.head_norms],
        [one.weight for layer in layers for one in layer.after_norms],
        other,
        local,
        layers[0].form,
    )


def _layers(steps: list[Node], operators: OpNamespace) -> list[_Layer] | None:
    """The layers of a decoder, if these steps are that and nothing more."""
    wanted = [operators.row_products, operators.attend_and_store, operators.row_products, operators.row_gated]
    order = [one.default for one in (*wanted, operators.row_products)]
    if len(steps) % 5 != 1 or len(steps) < 6:
        return None
    head = steps[-1]
    starts = range(0, len(steps) - 1, 5)
    if head.target is not order[0] or any([node.target for node in steps[at : at + 5]] != order for at in starts):
        return None
    if not _is_product(head, matrices=1, has_norm=True) or head.args[4] or head.args[5] is not None:
        return None
    layers = []
    for at in starts:
        layer = _layer(steps[at : at + 5], steps[at + 5])
        if layer is None:
            return None
        layers.append(layer)
    first, epsilon = layers[0], head.args[3]
    followers = [*({one.qkv, one.middle} for one in layers[1:]), {head}]
    for layer, followed_by in zip(layers, followers, strict=True):
        same_norms = {_plus(layer.qkv), _plus(layer.gated)} == {_plus(head)}
        if not _hangs_together(layer, first, epsilon) or not same_norms or layer.form != first.form:
            return None
        if _readers(layer.end) != followed_by:
            return None
    return layers if len({layer.seen for layer in layers}) <= 2 else None


def _layer(steps: list[Node], follower: Node) -> _Layer | None:
    """These five, joined to the residual with or without a norm."""
    qkv, attention, output, gated, down = steps[0], steps[1], steps[2], steps[3], steps[4]
    row = through_views(qkv.args[0])
    middle = _joined_to(output, row, through_views(gated.args[0]))
    if middle is None:
        return None
    end = _joined_to(down, middle[0], through_views(follower.args[0]))
    if end is None or (middle[1] is None) != (end[1] is None):
        return None
    norms = (middle[1], end[1]) if middle[1] is not None and end[1] is not None else ()
    return _Layer(qkv, attention, output, gated, down, middle[0], end[0], norms)


def _joined_to(product: Node, row: Node, total: Node) -> tuple[Node, Norm | None] | None:
    """The row after a product: the product itself, to which the row was added, or row + norm(product)."""
    if product.args[5] is not None:
        return (product, None) if through_views(product.args[5]) is row and total is product else None
    if not is_call(total, "add.Tensor") or total.kwargs or len(total.args) != 2:
        return None
    for normed, other in (total.args, total.args[::-1]):
        norm = rms_norm(normed) if hasattr(normed, "op") else None
        if norm is not None and through_views(norm.x) is product and through_views(other) is row:
            same = value(total).dtype == value(row).dtype == value(product).dtype == value(normed).dtype
            return (total, norm) if same and _leads_only_to(total, product) else None
    return None


def _leads_only_to(total: Node, product: Node) -> bool:
    """Whether what is computed from a product goes into this sum and nowhere else."""
    waiting, seen = [product], {product}
    while waiting:
        for user in waiting.pop().users:
            if user is not total and user not in seen:
                if user.op == "output" or len(seen) > MOST_NODES:
                    return False
                seen.add(user)
                waiting.append(user)
    return True


def _is_product(node: Node, matrices: int, has_norm: bool) -> bool:
    return len(node.args[1]) == matrices and (node.args[2] is not None) == has_norm


def _hangs_together(layer: _Layer, first: _Layer, epsilon: float) -> bool:
    """Each step reads what the one before it made, the residual goes around it, and nobody else looks on."""
    shaped = (
        _is_product(layer.qkv, matrices=3, has_norm=True)
        and _is_product(layer.output, matrices=1, has_norm=False)
        and _is_product(layer.down, matrices=1, has_norm=False)
        and layer.qkv.args[5] is None
        and layer.gated.args[3] is not None
        and {layer.qkv.args[3], layer.gated.args[4]} == {epsilon}
        and len(layer.qkv.args[4]) in (0, 3)
        and not (layer.output.args[4] or layer.down.args[4])
    )
    if not shaped or not _has_the_same_extras(layer, first, epsilon):
        return False
    sizes = [value(one).shape[0] for one in layer.qkv.args[1]]
    ends = [sum(sizes[: number + 1]) for number in range(3)]
    parts = [_part(one) for one in layer.attention.args[:3]]
    if parts != [(layer.qkv, end - size, end) for size, end in zip(sizes, ends, strict=True)]:
        return False
    # The position may be reshaped anew in every layer; mask, cosine and sine are the same nodes for all that see alike.
    theirs, ours = first.attention.args, layer.attention.args
    if through_views(theirs[5]) is not through_views(ours[5]) or theirs[9] != ours[9] or ours[7] is None:
        return False
    products = {layer.output} if layer.middle is layer.output else set()
    return (
        _through_heads(layer.output.args[0]) is layer.attention
        and through_views(layer.gated.args[0]) is layer.middle
        and through_views(layer.down.args[0]) is layer.gated
        and _readers(layer.qkv) == {layer.attention}
        and _readers(layer.attention) == {layer.output}
        and _readers(layer.middle) == {layer.gated, layer.down if products else layer.end}
        and _readers(layer.gated) == {layer.down}
    )


def _has_the_same_extras(layer: _Layer, first: _Layer, epsilon: float) -> bool:
    """As the first layer has: biases, norms of heads and of what is added, with one epsilon and plus."""
    attention, form = layer.attention, layer.form
    norms = layer.after_norms
    has_norms = len(layer.head_norms) == 2
    return (
        len(layer.qkv.args[4]) == len(first.qkv.args[4])
        and len(layer.head_norms) == len(first.head_norms)
        and len(norms) == len(first.after_norms)
        and (
            not layer.head_norms or (has_norms and attention.args[12] == epsilon and _plus(attention) == form.norm_plus)
        )
        and all((one.epsilon, one.plus) == (epsilon, form.norm_plus) for one in norms)
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
    tensors: tuple[Node, list[Node], list[Node], list[Node], Node],
    usual: tuple[Node | None, Node, Node],
    extras: Extras,
) -> bool:
    """Whether the kernel suits these tensors. On a CPU the operator computes the same in plain torch, for any shape."""
    from kernel_pytorch.perf.decode import one_kernel as vendor

    start, weights, norms, caches, head = tensors
    bias, cos, _ = usual
    device = value(start).device
    if device.type == "cpu":
        return True
    kinds = {value(one).dtype for one in (start, *weights, *norms, *caches, head, cos)}
    if device.type != "cuda" or vendor.why_not_here(device) is not None:
        return False
    if len(kinds) != 1 or not kinds <= set(vendor.element_types()):
        return False
    masks = [one for one in (bias, *extras.other[2:]) if one is not None]
    if any(value(one).dim() != 4 or value(one).shape[0] != 1 for one in masks):
        return False
    if not all(value(one).is_contiguous() for one in (*weights, *caches, head, *extras.tensors)):
        return False
    matrices, cached = ([value(one) for one in some] for some in (weights, caches))
    lists = (extras.biases, extras.head_norms, extras.after_norms, extras.other)
    biases, head_norms, after_norms, other = ([value(one) for one in some] for some in lists)
    real = Extras(biases, head_norms, after_norms, other, extras.local, extras.form)
    shift = None if bias is None else value(bias)
    return vendor.takes(matrices, cached, value(head), shift, value(cos), real, device)


def _as_row(graph: Graph, start: Node) -> Node:
    import torch

    row = graph.call_function(torch.ops.aten.reshape.default, (start, [1, value(start).numel()]))
    row.meta["val"] = value(start).reshape(1, -1)
    return row


def _erase(graph: Graph, node: Node) -> None:
    """A step and what only reshaped its result: operators with side effects are not dead code to anybody else."""
    while node.users:
        _erase(graph, next(iter(node.users)))
    graph.erase_node(node)
