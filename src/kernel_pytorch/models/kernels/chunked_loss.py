"""The last product of a language model and its cross entropy, a few rows at a time: all scores are never there at once.

The scores of 8,192 tokens over 128,256 words take 4.2 GB in fp32, and their gradient as much again. Here the gradients
are made together with the loss, chunk by chunk, and the backward pass only scales them. It is an operator of its own,
because a compiler would write out the loop over chunks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import _OpNamespace as OpNamespace

NAMESPACE = "kpt_loss"
MOST_SCORES = 2**25
"""Scores of a chunk: 128 MiB in fp32."""
NO_INDEX = -100


def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    ignore_index: int = NO_INDEX,
    reduction: str = "mean",
    most_scores: int = MOST_SCORES,
) -> Tensor:
    """cross_entropy(hidden @ weight.T + bias, labels) for (rows, width) and (rows,), in fp32, with gradients.

    `reduction` is "mean" or "sum". There is no second derivative."""
    import torch

    wants = torch.is_grad_enabled()
    needs = [wants and one is not None and one.requires_grad for one in (hidden, weight, bias)]
    rows = max(1, most_scores // weight.shape[0])
    given = (hidden, weight, bias, labels, ignore_index, reduction == "mean", rows, needs)
    loss: Tensor = register().linear_cross_entropy(*given)[0]
    return loss


def _forward(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    ignore_index: int,
    is_mean: bool,
    rows: int,
    needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Loss and the gradients of hidden, weight and bias; those that nobody needs are empty."""
    import torch

    known = labels != ignore_index
    count = known.sum() if is_mean else torch.ones((), dtype=torch.int64, device=labels.device)
    share = known.float() / count
    places = labels.where(known, 0)[:, None]
    loss = hidden.new_zeros((), dtype=torch.float32)
    by_hidden, by_weight, by_bias = (_room(one, need) for one, need in zip((hidden, weight, bias), needs, strict=True))
    if needs[1]:
        by_weight = by_weight.float()
    for start in range(0, hidden.shape[0], rows):
        here = slice(start, start + rows)
        part = hidden[here]
        scores = torch.nn.functional.linear(part, weight, bias).float()
        total = scores.logsumexp(-1)
        picked = scores.gather(1, places[here])[:, 0]
        loss += ((total - picked) * share[here]).where(known[here], 0.0).sum()
        if not any(needs):
            continue
        scores.sub_(total[:, None]).exp_().scatter_add_(1, places[here], -torch.ones_like(picked)[:, None])
        slope = scores.mul_(share[here][:, None]).to(hidden.dtype)
        if needs[0]:
            by_hidden[here] = slope @ weight
        if needs[1]:
            by_weight += slope.t() @ part
        if needs[2]:
            by_bias += slope.float().sum(0)
    if is_mean:
        loss = loss.where(count > 0, float("nan"))  # as torch has it where every label is ignored
    return loss, by_hidden, by_weight.to(weight.dtype) if needs[1] else by_weight, by_bias


def _room(one: Tensor | None, needed: bool) -> Tensor:
    import torch

    if one is None or not needed:
        return torch.empty(0, device=None if one is None else one.device)
    return torch.zeros(one.shape, dtype=torch.float32 if one.dim() == 1 else one.dtype, device=one.device)


@lru_cache(maxsize=1)
def register() -> OpNamespace:
    """Define the operator; gives torch.ops.kpt_loss."""
    import torch

    library = torch.library.Library(NAMESPACE, "DEF")
    library.define(
        "linear_cross_entropy(Tensor hidden, Tensor weight, Tensor? bias, Tensor labels, int ignore_index, "
        "bool is_mean, int rows, bool[] needs) -> (Tensor, Tensor, Tensor, Tensor)"
    )
    name = f"{NAMESPACE}::linear_cross_entropy"

    def forward(hidden: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        return _forward(hidden, *rest)

    library.impl("linear_cross_entropy", forward, "CPU")
    library.impl("linear_cross_entropy", forward, "CUDA")

    def fake(hidden: Tensor, weight: Tensor, bias: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
        needs = rest[-1]
        rooms = [_room(one, need) for one, need in zip((hidden, weight, bias), needs, strict=True)]
        return (hidden.new_zeros((), dtype=torch.float32), *rooms)

    def keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.needs, ctx.has_bias = inputs[-1], inputs[2] is not None
        ctx.bias_type = inputs[2].dtype if ctx.has_bias else None
        ctx.save_for_backward(*output[1:])
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, by_loss: Tensor | None, *others: Any) -> tuple[Any, ...]:
        rest = (None,) * 5
        if by_loss is None:
            return (None, None, None, *rest)
        found = [
            one * by_loss.to(one.dtype) if need else None
            for one, need in zip(ctx.saved_tensors, ctx.needs, strict=True)
        ]
        if found[2] is not None:
            found[2] = found[2].to(ctx.bias_type)
        return (*found, *rest)

    torch.library.register_fake(name, fake, lib=library)
    torch.library.register_autograd(name, backward, setup_context=keep, lib=library)
    _kept.append(library)
    return getattr(torch.ops, NAMESPACE)


_kept: list[object] = []  # an operator lives as long as the library object that defined it
