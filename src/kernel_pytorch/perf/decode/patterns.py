"""Shapes of computation in Inductor's graph, found from the operators up: norms, gates, rotations, repeated heads.

Nothing here knows a model's classes. Every function answers None where the graph is not exactly that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from torch._ops import _OpNamespace as OpNamespace
    from torch.fx import Node
    from torch.fx.node import Argument


@dataclass(frozen=True)
class Norm:
    """x / sqrt(mean(x^2) + epsilon) * (weight + plus)."""

    x: Node
    weight: Node
    epsilon: float
    plus: float = 0.0


@dataclass(frozen=True)
class Rotation:
    """x * cos + (-x[half:], x[:half]) * sin, for the first of x where cos has fewer values; the rest as it was. With
    neighbours it is (-x[1], x[0], -x[3], x[2], ...) that is multiplied by sin."""

    x: Node
    cos: Node
    sin: Node
    neighbours: bool = False


def aten(name: str) -> OpNamespace:
    """An operator of aten with its overload: aten("mul.Tensor")."""
    import torch

    operator, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload or "default")


def is_call(node: Argument, *names: str) -> TypeGuard[Node]:
    """A call of one of these aten operators."""
    return getattr(node, "op", "") == "call_function" and any(node.target is aten(name) for name in names)


def value(node: Argument) -> Any:
    """The fake tensor of a node; None where there is none."""
    return getattr(node, "meta", {}).get("val")


def is_convert(node: Argument) -> bool:
    """A change of dtype."""
    import torch

    return getattr(node, "op", "") == "call_function" and node.target is torch.ops.prims.convert_element_type.default


def through_views(node: Argument) -> Argument:
    """The node behind reshapes, which move nothing."""
    while is_call(node, "reshape", "view", "_unsafe_view", "unsqueeze", "squeeze.dim", "alias"):
        node = node.args[0]
    return node


def through_converts(node: Argument) -> Argument:
    """The node behind changes of dtype and reshapes."""
    while is_convert(node) or is_call(node, "reshape", "view", "_unsafe_view"):
        node = node.args[0]
    return node


def is_input(node: Argument) -> bool:
    """A tensor that comes into the graph and is not written to in it."""
    if getattr(node, "op", "") not in ("placeholder", "get_attr"):
        return False
    return not any(is_call(user, "copy_") and user.args[0] is node for user in node.users)


def rms_norm(node: Argument) -> Norm | None:
    """A root-mean-square norm with a weight, with the rounding of either of the two usual forms."""
    node = through_views(node)
    while is_convert(node):
        node = through_views(node.args[0])
    if not is_call(node, "mul.Tensor"):
        return None
    for weight, rest in (node.args, node.args[::-1]):
        vector, plus = _norm_weight(weight)
        if vector is None:
            continue
        found = _scaled_to_one(through_converts(rest))
        if found is not None and value(found[0]).shape[-1] == value(vector).shape[0]:
            return Norm(found[0], vector, found[1], plus)
    return None


def _norm_weight(node: Argument) -> tuple[Node | None, float]:
    """A vector that comes into the graph, and the number that is added to it (Gemma: 1)."""
    plus = 0.0
    vector = through_converts(node)
    if is_call(vector, "add.Tensor") and isinstance(vector.args[1], (int, float)) and not vector.kwargs:
        plus, vector = float(vector.args[1]), through_converts(vector.args[0])
    fits = is_input(vector) and value(vector) is not None and value(vector).dim() == 1
    return (vector, plus) if fits else (None, 0.0)


def head_norm(node: Argument) -> Norm | None:
    """The same norm over each head of (batch, heads, 1, size), with heads and length exchanged before or after it.

    `x` is (batch, length, heads, size) or (batch, heads, length, size), as the norm had it."""
    inner = node.args[0] if _swaps_heads(node) else node
    while is_convert(inner):
        inner = inner.args[0]
    if not is_call(inner, "mul.Tensor"):
        return None
    for weight, rest in (inner.args, inner.args[::-1]):
        vector, plus = _norm_weight(weight)
        if vector is None:
            continue
        while is_convert(rest):
            rest = rest.args[0]
        found = _scaled_to_one(rest, behind_views=False)
        if found is not None and value(found[0]).dim() == 4 and value(found[0]).shape[-1] == value(vector).shape[0]:
            return Norm(found[0], vector, found[1], plus)
    return None


def _swaps_heads(node: Argument) -> TypeGuard[Node]:
    return is_call(node, "permute") and list(node.args[1]) == [0, 2, 1, 3]


def _scaled_to_one(node: Argument, behind_views: bool = True) -> tuple[Node, float] | None:
    if not is_call(node, "mul.Tensor"):
        return None
    for x, factor in (node.args, node.args[::-1]):
        if not is_call(factor, "rsqrt"):
            continue
        total = factor.args[0]
        if not is_call(total, "add.Tensor") or not isinstance(total.args[1], float):
            return None
        mean = total.args[0]
        if not is_call(mean, "mean.dim") or list(mean.args[1]) not in ([-1], [value(x).dim() - 1]):
            return None
        square = mean.args[0]
        by_power = is_call(square, "pow.Tensor_Scalar") and square.args == (x, 2)
        by_product = is_call(square, "mul.Tensor") and square.args == (x, x)
        if not (by_power or by_product):
            return None
        if behind_views:
            return through_converts(x), float(total.args[1])
        while is_convert(x):
            x = x.args[0]
        return x, float(total.args[1])
    return None


def rotation(node: Argument) -> Rotation | None:
    """A rotary embedding by halves, of all values or of the first of them."""
    if is_call(node, "cat") and len(node.args[0]) == 2 and node.args[1:] in ((-1,), (value(node).dim() - 1,)):
        first, rest = node.args[0]
        found = _whole_rotation(first)
        # The rotated values are the first of a head, and what follows them is the rest of the same head.
        if found is None or not is_call(found.x, "slice.Tensor"):
            return None
        whole, size, turned = found.x.args[0], value(node).shape[-1], value(found.cos).numel()
        fits = _is_slice(found.x, whole, 0, turned) and _is_slice(rest, whole, turned, size)
        return (
            Rotation(whole, found.cos, found.sin, found.neighbours) if fits and value(whole).shape[-1] == size else None
        )
    return _whole_rotation(node)


def _whole_rotation(node: Argument) -> Rotation | None:
    if not is_call(node, "add.Tensor") or len(node.args) != 2:
        return None
    for plain, turned in (node.args, node.args[::-1]):
        if not (is_call(plain, "mul.Tensor") and is_call(turned, "mul.Tensor")):
            continue
        x, cos = plain.args
        size = value(x).shape[-1]
        neighbours = _are_neighbours(turned.args[0], x)
        if not neighbours and not _are_halves(turned.args[0], x):
            continue
        cos, sin = through_views(cos), through_views(turned.args[1])
        if value(cos).numel() == size == value(sin).numel():
            return Rotation(x, cos, sin, neighbours)
    return None


def _are_halves(node: Argument, x: Node) -> bool:
    """(-x[half:], x[:half])."""
    size = value(x).shape[-1]
    if not is_call(node, "cat") or len(node.args[0]) != 2 or not is_call(node.args[0][0], "neg"):
        return False
    upper, lower = node.args[0][0].args[0], node.args[0][1]
    return _is_slice(upper, x, size // 2, size) and _is_slice(lower, x, 0, size // 2)


def _are_neighbours(node: Argument, x: Node) -> bool:
    """(-x[1], x[0], -x[3], x[2], ...), as two slices of every second value, stacked."""
    if not is_call(node, "reshape", "view", "_unsafe_view") or value(node).shape != value(x).shape:
        return False
    stacked = node.args[0]
    if not is_call(stacked, "cat") or len(stacked.args[0]) != 2 or value(stacked).shape[-1] != 2:
        return False
    if stacked.args[1:] not in ((-1,), (value(stacked).dim() - 1,)):
        return False
    odd, even = (one.args[0] if is_call(one, "unsqueeze") else None for one in stacked.args[0])
    return is_call(odd, "neg") and _is_every_second(odd.args[0], x, 1) and _is_every_second(even, x, 0)


def _is_every_second(node: Argument, x: Node, start: int) -> bool:
    if not is_call(node, "slice.Tensor") or node.args[0] is not x or len(node.args) != 5:
        return False
    axis, first, last, step = node.args[1:]
    size = value(x).shape[-1]
    return axis in (-1, value(x).dim() - 1) and first == start and last >= size and step == 2


def _is_slice(node: Argument, x: Node, start: int, end: int) -> bool:
    if not is_call(node, "slice.Tensor") or node.args[0] is not x or len(node.args) > 4:
        return False
    args: list[object] = [*node.args, None, None, None]
    axis, first, last = args[1:4]
    size = value(x).shape[-1]
    return (
        axis in (-1, value(x).dim() - 1) and (first or 0) == start and min(size if last is None else last, size) == end
    )


def unrepeated(node: Argument) -> tuple[Argument, list[Node]]:
    """The heads behind a repetition for grouped queries, and the nodes of the repetition, outermost first."""
    way = [node]
    inner = node
    if not is_call(inner, "reshape", "view", "_unsafe_view"):
        return node, []
    inner = inner.args[0]
    if is_call(inner, "clone"):
        way.append(inner)
        inner = inner.args[0]
    if not is_call(inner, "expand") or not is_call(inner.args[0], "unsqueeze"):
        return node, []
    way += [inner, inner.args[0]]
    base = inner.args[0].args[0]
    outer, whole = value(node), value(base)
    if outer.dim() != 4 or whole.dim() != 4 or inner.args[0].args[1] != 2:
        return node, []
    return (base, way) if outer.shape[2:] == whole.shape[2:] and outer.shape[0] == whole.shape[0] else (node, [])
