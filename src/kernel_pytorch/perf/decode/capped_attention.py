"""Attention whose scores are capped (Gemma 2), as a graph has it: scaled_dot_product_attention has no cap, so models
write it out as two products with a softmax between them.

    softmax(cap * tanh(scale * q k^T / cap) + mask) v

Nothing here knows a model's classes; what is not exactly that, up to changes of dtype and shape, is left alone.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.patterns import is_call, is_convert, value

if TYPE_CHECKING:
    from torch.fx import Node
    from torch.fx.node import Argument

MOVES_NOTHING = ("reshape", "view", "_unsafe_view", "expand", "clone", "unsqueeze", "squeeze.dim", "alias")


@dataclass(frozen=True)
class Capped:
    """What goes in: q is (batch, heads, 1, size), keys and values are (batch, heads, length, size)."""

    query: Node
    key: Node
    value: Node
    bias: Node | None
    scale: float
    cap: float


def capped_attention(node: Node) -> Capped | None:
    """The attention that ends with this product; None where it is not one, or has no cap."""
    if not is_call(node, "bmm"):
        return None
    scores = _softmax_of(_behind(node.args[0]))
    values = _heads(node.args[1])
    if scores is None or values is None:
        return None
    for inner, bias in _with_bias(scores):
        found = _cap_of(_behind(inner))
        if found is None:
            continue
        product, scale = _scaled(_behind(found[0]))
        if not is_call(product, "bmm"):
            return None
        query, keys = _heads(product.args[0]), _behind_heads(product.args[1])
        if query is None or not is_call(keys, "permute") or list(keys.args[1]) != [0, 1, 3, 2]:
            return None
        return Capped(query, keys.args[0], values, bias, scale, found[1])
    return None


def _behind(node: Argument) -> Argument:
    """Through changes of dtype and of shape that move nothing, repeat nothing and leave the last axis alone."""
    while is_convert(node) or (is_call(node, *MOVES_NOTHING) and _has_same_rows(node)):
        node = node.args[0]
    return node


def _has_same_rows(node: Node) -> bool:
    outer, inner = value(node), value(node.args[0])
    return bool(outer.numel() == inner.numel() and inner.dim() and outer.shape[-1] == inner.shape[-1])


def _behind_heads(node: Argument) -> Argument:
    """Through the reshapes that make one axis of batch and heads, as far as a tensor of four axes that is no such
    reshape itself."""
    while is_call(node, *MOVES_NOTHING) and value(node).numel() == value(node.args[0]).numel():
        inner = node.args[0]
        if value(node).dim() == 4 and value(inner).shape != value(node).shape:
            break
        node = inner
    return node


def _heads(node: Argument) -> Node | None:
    found = _behind_heads(node)
    return found if value(found) is not None and value(found).dim() == 4 else None


def _softmax_of(node: Argument) -> Argument | None:
    """x of exp(x - max) / sum(exp(x - max)) over the last axis, with the sum in either of Inductor's forms."""
    if not is_call(node, "div.Tensor"):
        return None
    shares, total = node.args
    if not is_call(shares, "exp") or not is_call(shares.args[0], "sub.Tensor"):
        return None
    scores, top = shares.args[0].args
    last = ([-1], [value(scores).dim() - 1])
    apart = is_call(total, "sum.dim_IntList") and total.args[0] is shares and list(total.args[1]) in last
    highest = is_call(top, "amax") and top.args[0] is scores and list(top.args[1]) in last
    return scores if (apart and highest) or _is_online(top, total, scores) else None


def _is_online(top: Argument, total: Argument, scores: Argument) -> bool:
    """Inductor's operator that gives the highest and the sum at once."""
    import torch

    both = getattr(torch.ops.prims, "prepare_softmax_online", None)
    if both is None or any(getattr(one, "target", None) is not operator.getitem for one in (top, total)):
        return False
    (made, first), (same, second) = top.args, total.args
    known = made is same and getattr(made, "target", None) is both.default and (first, second) == (0, 1)
    return known and made.args[0] is scores and made.args[1] in (-1, value(scores).dim() - 1)


def _with_bias(scores: Argument) -> list[tuple[Argument, Node | None]]:
    """What may be the capped scores, each with the mask that is added to it."""
    inner = _behind(scores)
    if not is_call(inner, "add.Tensor") or inner.kwargs or len(inner.args) != 2:
        return [(scores, None)]
    left, right = inner.args
    return [(left, right), (right, left)]


def _cap_of(node: Argument) -> tuple[Argument, float] | None:
    """(x, cap) of cap * tanh(x / cap)."""
    if not is_call(node, "mul.Tensor") or not isinstance(node.args[1], (int, float)):
        return None
    cap, turned = float(node.args[1]), _behind(node.args[0])
    if not is_call(turned, "tanh") or cap <= 0:
        return None
    inside = _behind(turned.args[0])
    if not is_call(inside, "div.Tensor", "mul.Tensor") or not isinstance(inside.args[1], (int, float)):
        return None
    by = float(inside.args[1]) if is_call(inside, "div.Tensor") else 1 / float(inside.args[1])
    return (inside.args[0], cap) if abs(by - cap) <= 1e-6 * cap else None


def _scaled(node: Argument) -> tuple[Argument, float]:
    if is_call(node, "mul.Tensor") and isinstance(node.args[1], (int, float)):
        return _behind(node.args[0]), float(node.args[1])
    if is_call(node, "div.Tensor") and isinstance(node.args[1], (int, float)):
        return _behind(node.args[0]), 1 / float(node.args[1])
    return node, 1.0
