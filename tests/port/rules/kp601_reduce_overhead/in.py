"""A model that is compiled three ways."""

from functools import partial

import torch
import torch as th
from torch import compile as jit


def build(model, fast):
    first = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    second = jit(model, mode='reduce-overhead')
    third = th.compile(model, mode="max-autotune" if fast else "default")
    return first, second, third


@torch.compile(mode="reduce-overhead")
def step(x):
    return x + 1


compiled = partial(torch.compile, mode="reduce-overhead")


def more(model, pipe, fast):
    settings = {"mode": "reduce-overhead", "fullgraph": True}
    named = dict(mode="max-autotune")
    mode = "reduce-overhead" if fast else None
    pipe.unet.compile(mode="reduce-overhead", fullgraph=True)
    return torch.compile(model, **settings), torch.compile(model, **named), torch.compile(model, mode=mode)


def compiled(model, mode):
    return torch.compile(model, mode=mode)


def all_of(models):
    return [compiled(one, "reduce-overhead") for one in models]


class Generator:
    def __init__(self, model, options={"mode": "reduce-overhead", "fullgraph": True}):
        self.options = options
        self.forward = torch.compile(model.forward, **self.options)
