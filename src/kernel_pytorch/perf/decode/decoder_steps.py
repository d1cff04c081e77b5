"""A decoder for one token, step by step: what the one kernel computes, and what serves where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Steps:
    """The three operators of a layer, in plain torch or as kernels. They have the arguments of `ops`."""

    row_products: Callable[..., Tensor]
    row_gated: Callable[..., Tensor]
    attend_and_store: Callable[..., Tensor]


def in_steps(
    steps: Steps,
    x: Tensor,
    weights: list[Tensor],
    norms: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    position: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    scale: float,
    epsilon: float,
    overlaps: bool = False,
) -> Tensor:
    """The scores of all words. `weights` has q, k, v, o, gate, up and down of each layer, `norms` two and the last."""
    for layer in range(len(caches) // 2):
        q, k, v, o, gate, up, down = weights[7 * layer : 7 * layer + 7]
        before, after = norms[2 * layer : 2 * layer + 2]
        keys, values = caches[2 * layer : 2 * layer + 2]
        # The first of all waits for what ran before the call.
        qkv = steps.row_products(x, [q, k, v], before, epsilon, [], None, overlaps and layer > 0)
        sizes = [one.shape[0] for one in (q, k, v)]
        heads = [one.view(1, -1, 1, keys.shape[-1]) for one in qkv.split(sizes, dim=1)]
        shown = (position, bias, cos, sin, scale, None, None, 0.0, 0.0)  # no norms of heads, no cap
        seen = steps.attend_and_store(*heads, keys, values, *shown, overlaps)
        x = steps.row_products(seen.reshape(1, -1), [o], None, 0.0, [], x, overlaps)
        middle = steps.row_gated(x, gate, up, after, epsilon, overlaps)
        x = steps.row_products(middle, [down], None, 0.0, [], x, overlaps)
    return steps.row_products(x, [head], norms[-1], epsilon, [], None, overlaps)
