"""Weights of convolutions in channels_last order, where a measurement shows that it pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.backends.prepare import has_convolutions
from kernel_pytorch.models.fx.rewrite import Change, Job, NotApplicable, Rewrite

if TYPE_CHECKING:
    from torch import nn


def apply(model: nn.Module, job: Job) -> list[Change]:
    """Lay out four-dimensional weights channels_last; torch carries the order on through the layers."""
    import torch

    if not has_convolutions(model):
        raise NotApplicable("the model has no two-dimensional convolution")
    weights = [item for item in model.parameters() if item.dim() == 4]
    before = [item.data for item in weights]
    after = [item.contiguous(memory_format=torch.channels_last) for item in before]
    if all(old.is_contiguous(memory_format=torch.channels_last) for old in before):
        raise NotApplicable("the weights are channels_last already")

    def switch(on: bool) -> None:
        for item, data in zip(weights, after if on else before, strict=True):
            item.data = data

    switch(True)
    return [Change("all convolutions", f"{len(weights)} weights channels_last", lambda: switch(False), switch)]


REWRITE = Rewrite(
    name="channels_last",
    level="balanced",
    effect="convolutions without layout changes around them",
    apply=apply,
    only_if_faster=True,
)
