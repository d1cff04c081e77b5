"""The pass that puts the kernels of decoding into Inductor's graph: late, on aten operators, before lowering."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kernel_pytorch.perf.decode.form import SILU
from kernel_pytorch.perf.decode.gates import activation
from kernel_pytorch.perf.decode.ops import MOST_MATRICES, register
from kernel_pytorch.perf.decode.patterns import (
    aten,
    is_call,
    is_input,
    rms_norm,
    through_converts,
    through_views,
    value,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import OpOverload
    from torch._ops import _OpNamespace as OpNamespace
    from torch.fx import Graph, Node

# Part of the key of Inductor's cache of compiled graphs: to be raised with every change of what the pass does.
VERSION = 6
ONE_ROW = "one row"


class Source(NamedTuple):
    """The row that a product reads, with the weight and epsilon of the norm before it, if there is one."""

    row: Node
    norm: Node | None
    epsilon: float
    plus: float = 0.0  # added to the norm's weight

    @property
    def more(self) -> dict[str, float]:
        """For the operators, which take most norms as they are."""
        return {"plus": self.plus} if self.plus else {}


def one_row(graph: Graph) -> int:
    """Replace products of one row and attention of one query; gives how many operators were put in."""
    from kernel_pytorch.perf.decode.attention_pass import attention

    operators = register()
    _outer(graph)
    placed = _gated(graph, operators) + _with_residual(graph, operators) + _joined(graph, operators)
    placed += attention(graph, operators)
    graph.eliminate_dead_code()
    _let_overlap(graph)
    return placed


def _let_overlap(graph: Graph) -> None:
    """The first of ours waits for whatever ran before the graph; the others only read weights before they wait."""
    first = True
    for node in graph.nodes:
        if node.op == "call_function" and getattr(node.target, "namespace", "") == "kpt_decode":
            if first:
                node.args = (*node.args[:-1], False)
            first = False


def _outer(graph: Graph) -> None:
    """A product over a single column is a multiplication, which Inductor can join with its neighbours: the angles of a
    rotary embedding need a library's kernel otherwise."""
    for node in list(graph.nodes):
        if not is_call(node, "bmm", "mm") or value(node) is None:
            continue
        left, right = node.args
        if value(left).shape[-1] == 1 and value(left).dtype == value(right).dtype == value(node).dtype:
            with graph.inserting_before(node):
                node.replace_all_uses_with(_call(graph, aten("mul.Tensor"), (left, right), value(node)))


def products(graph: Graph) -> list[Node]:
    """Products of one row with a weight that comes into the graph."""
    found = []
    for node in graph.nodes:
        if is_call(node, "mm", "addmm"):
            row, matrix = node.args[-2:]
            result = value(node)
            if result is None or result.dim() != 2 or result.shape[0] != 1 or not result.is_floating_point():
                continue
            if len(node.args) == 3 and (value(node.args[0]).dim() != 1 or node.kwargs):
                continue
            if weight_of(node) is not None and value(row).dtype == value(matrix).dtype == result.dtype:
                found.append(node)
    return found


def weight_of(node: Node) -> Node | None:
    """The (rows, columns) weight of a product; None where it is laid out otherwise or written to."""
    matrix = node.args[-1]
    if not is_call(matrix, "permute", "t") or (len(matrix.args) > 1 and list(matrix.args[1]) != [1, 0]):
        return None
    weight = matrix.args[0]
    return weight if is_input(weight) and value(weight).is_contiguous() else None


def _bias(node: Node) -> Node | None:
    return node.args[0] if len(node.args) == 3 else None


def _biases(nodes: list[Node]) -> list[Node]:
    return [one for one in map(_bias, nodes) if one is not None]


def _source(node: Node) -> Source:
    row = node.args[-2]
    norm = rms_norm(row)
    # A norm of each head reads like one of the row; its weight is shorter.
    whole = norm is not None and value(norm.weight).shape[0] == value(row).shape[-1]
    if norm is None or not whole or value(norm.x).dtype != value(row).dtype:
        return Source(through_views(row), None, 0.0)
    return Source(through_views(norm.x), norm.weight, norm.epsilon, norm.plus)


def _row_of(graph: Graph, source: Node) -> Node:
    """The source as one row, contiguous: kernels count on it."""
    import torch

    shape = [1, value(source).numel()]
    return _call(graph, torch.ops.aten.reshape.default, (source, shape), value(source).new_empty(shape))


def _call(
    graph: Graph, target: OpOverload, args: tuple[object, ...], result: Tensor, more: Mapping[str, object] | None = None
) -> Node:
    node = graph.call_function(target, args, dict(more or {}))
    node.meta["val"] = result
    return node


def _like(graph: Graph, node: Node, old: Node) -> Node:
    """`node` in the shape of `old`, whose users it gets."""
    import torch

    with graph.inserting_after(node):
        shaped = _call(graph, torch.ops.aten.reshape.default, (node, list(value(old).shape)), value(old))
    old.replace_all_uses_with(shaped)
    return shaped


def _only_user(node: Node) -> Node | None:
    """The one node that uses this through reshapes; None where there are several."""
    while True:
        if len(node.users) != 1:
            return None
        user = next(iter(node.users))
        if not is_call(user, "reshape", "view", "_unsafe_view"):
            return user
        node = user


def _gated(graph: Graph, operators: OpNamespace) -> int:
    """active(x @ gate) * (x @ up) with SiLU or GELU, from two products or from the halves of one."""
    known = set(products(graph))
    placed = 0
    for node in list(graph.nodes):
        if not is_call(node, "mul.Tensor") or value(node) is None:
            continue
        for active, other in (node.args, node.args[::-1]):
            found = activation(active) if hasattr(active, "op") and hasattr(other, "op") else None
            if found is None:
                continue
            inner, kind = found
            weights = _gate_weights(graph, through_converts(inner), through_converts(other), known, node)
            if weights is None:
                continue
            gate, up, source = weights
            with graph.inserting_before(node):
                row = _row_of(graph, source.row)
                result = value(node).new_empty((1, value(gate).shape[0]))
                args = (row, gate, up, source.norm, source.epsilon, True)
                more = {**source.more, **({} if kind == SILU else {"active": kind})}
                made = _call(graph, operators.row_gated.default, args, result, more)
            _like(graph, made, node)
            placed += 1
            break
    return placed


def _gate_weights(
    graph: Graph, gate: Node, up: Node, known: set[Node], before: Node
) -> tuple[Node, Node, Source] | None:
    import torch

    if gate in known and up in known and gate is not up:
        if _bias(gate) is not None or _bias(up) is not None or _source(gate) != _source(up):
            return None
        same = value(weight_of(gate)).shape == value(weight_of(up)).shape
        return (weight_of(gate), weight_of(up), _source(gate)) if same else None
    first, second = _half(gate), _half(up)
    if first is None or second is None or first[0] is not second[0] or first[0] not in known:
        return None
    halves = (first, second)
    product = halves[0][0]
    weight = weight_of(product)
    rows = value(weight).shape[0]
    if _bias(product) is not None or {one[1:] for one in halves} != {(0, rows // 2), (rows // 2, rows)}:
        return None
    with graph.inserting_before(before):
        parts = [
            _call(graph, torch.ops.aten.slice.Tensor, (weight, 0, start, end), value(weight)[start:end])
            for _, start, end in halves
        ]
    return parts[0], parts[1], _source(product)


def _half(node: Node) -> tuple[Node, int, int] | None:
    """A slice along the last axis of a product: the product, first and last place."""
    import operator

    if is_call(node, "slice.Tensor"):
        source, axis, start, end = (*node.args, *[None] * (4 - len(node.args)))[:4]
        size = value(source).shape[-1]
        if axis in (-1, value(source).dim() - 1):
            return through_views(source), start or 0, min(size if end is None else end, size)
    if getattr(node, "target", None) is operator.getitem and is_call(node.args[0], "split.Tensor", "split_with_sizes"):
        whole = node.args[0]
        source, sizes = whole.args[:2]
        total = value(source).shape[-1]
        axis = whole.args[2] if len(whole.args) > 2 else 0
        if axis in (-1, value(source).dim() - 1):
            widths = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes] * (total // sizes)
            start = sum(widths[: node.args[1]])
            return through_views(source), start, start + widths[node.args[1]]
    return None


def _with_residual(graph: Graph, operators: OpNamespace) -> int:
    """residual + x @ weight."""
    placed = 0
    for node in products(graph):
        total = _only_user(node)
        if total is None or not is_call(total, "add.Tensor") or total.kwargs or len(total.args) != 2:
            continue
        sides = [one for one in total.args if not (hasattr(one, "op") and through_views(one) is node)]
        if len(sides) != 1 or not hasattr(sides[0], "op"):
            continue
        residual = sides[0]
        same = value(residual).dtype == value(node).dtype and value(residual).numel() == value(node).numel()
        if not same or value(residual).numel() != value(total).numel():
            continue
        source = _source(node)
        with graph.inserting_before(total):
            args = (
                _row_of(graph, source.row),
                [weight_of(node)],
                source.norm,
                source.epsilon,
                _biases([node]),
                _row_of(graph, residual),
                True,
            )
            result = value(node).new_empty(value(node).shape)
            made = _call(graph, operators.row_products.default, args, result, source.more)
        _like(graph, made, total)
        placed += 1
    return placed


def _joined(graph: Graph, operators: OpNamespace) -> int:
    """All other products; those of the same row in one kernel."""
    import torch

    groups: dict[Source, list[Node]] = defaultdict(list)
    for node in products(graph):
        if node.users:
            groups[_source(node)].append(node)
    placed = 0
    for source, nodes in groups.items():
        alike = [[node for node in nodes if (_bias(node) is None) is plain] for plain in (True, False)]
        bunches = [some[at : at + MOST_MATRICES] for some in alike for at in range(0, len(some), MOST_MATRICES)]
        for bunch in bunches:
            with graph.inserting_before(bunch[0]):
                row = _row_of(graph, source.row)
                total = sum(value(node).shape[1] for node in bunch)
                weights = [weight_of(node) for node in bunch]
                args = (row, weights, source.norm, source.epsilon, _biases(bunch), None, True)
                result = value(bunch[0]).new_empty((1, total))
                made = _call(graph, operators.row_products.default, args, result, source.more)
                start = 0
                for node in bunch:
                    end = start + value(node).shape[1]
                    whole = (made, 1, start, end)
                    part = (
                        made
                        if len(bunch) == 1
                        else _call(graph, torch.ops.aten.slice.Tensor, whole, value(made)[:, start:end])
                    )
                    node.replace_all_uses_with(part)
                    start = end
            placed += 1
    return placed
