"""A decoder for one token, step by step: what the one kernel computes, and what serves where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.form import NO_EXTRAS, SILU, Extras
from kernel_pytorch.perf.decode.plainly import normed

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
    extras: Extras = NO_EXTRAS,
) -> Tensor:
    """The scores of all words. `weights` has q, k, v, o, gate, up and down of each layer, `norms` two and the last."""
    form = extras.form
    plus, neighbours, more = ({name: value} if value else {} for name, value in (
        ("plus", form.norm_plus), ("neighbours", form.neighbours), ("active", "" if form.gate == SILU else form.gate)
    ))  # fmt: skip
    for layer in range(len(caches) // 2):
        q, k, v, o, gate, up, down = weights[7 * layer : 7 * layer + 7]
        before, after = norms[2 * layer : 2 * layer + 2]
        keys, values = caches[2 * layer : 2 * layer + 2]
        # The first of all waits for what ran before the call.
        biases = extras.biases[3 * layer : 3 * layer + 3]
        qkv = steps.row_products(x, [q, k, v], before, epsilon, biases, None, overlaps and layer > 0, **plus)
        sizes = [one.shape[0] for one in (q, k, v)]
        heads = [one.view(1, -1, 1, keys.shape[-1]) for one in qkv.split(sizes, dim=1)]
        head_norms = extras.head_norms[2 * layer : 2 * layer + 2] or [None, None]
        shown = (position, *extras.seen_by(layer, bias, cos, sin), scale, *head_norms, epsilon, form.cap)
        seen = steps.attend_and_store(*heads, keys, values, *shown, overlaps, **plus, **neighbours)
        joins = extras.after_norms[2 * layer : 2 * layer + 2] or [None, None]
        x = _onto(steps, x, seen.reshape(1, -1), o, joins[0], epsilon, form.norm_plus, overlaps)
        middle = steps.row_gated(x, gate, up, after, epsilon, overlaps, **plus, **more)
        x = _onto(steps, x, middle, down, joins[1], epsilon, form.norm_plus, overlaps)
    return steps.row_products(x, [head], norms[-1], epsilon, [], None, overlaps, **plus)


def _onto(
    steps: Steps,
    x: Tensor,
    row: Tensor,
    weight: Tensor,
    norm: Tensor | None,
    epsilon: float,
    plus: float,
    overlaps: bool,
) -> Tensor:
    """A product onto x, or the norm of the product."""
    if norm is None:
        return steps.row_products(row, [weight], None, 0.0, [], x, overlaps)
    product = steps.row_products(row, [weight], None, 0.0, [], None, overlaps)
    return x + normed(product, norm, epsilon, plus).to(x.dtype)
