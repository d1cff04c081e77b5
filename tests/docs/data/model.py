"""A model as a reader of the guides may have one: `make` for most verbs, `before` and `after` to compare."""

import torch
from torch import nn


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 32)).eval(), (
        torch.randn(4, 32),
    )


def before():
    return make()


def after():
    return make()
