"""A model that is compiled three ways."""

from functools import partial

import torch
import torch as th
from torch import compile as jit

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None


def build(model, fast):
    first = torch.compile(model, mode="default" if IS_ROCM else "reduce-overhead", fullgraph=True)
    second = jit(model, mode="default" if IS_ROCM else 'reduce-overhead')
    third = th.compile(model, mode=("default" if IS_ROCM else "max-autotune") if fast else "default")
    return first, second, third


@torch.compile(mode="default" if IS_ROCM else "reduce-overhead")
def step(x):
    return x + 1


compiled = partial(torch.compile, mode="default" if IS_ROCM else "reduce-overhead")


def more(model, pipe, fast):
    settings = {"mode": "default" if IS_ROCM else "reduce-overhead", "fullgraph": True}
    named = dict(mode="default" if IS_ROCM else "max-autotune")
    mode = ("default" if IS_ROCM else "reduce-overhead") if fast else None
    pipe.unet.compile(mode="default" if IS_ROCM else "reduce-overhead", fullgraph=True)
    return torch.compile(model, **settings), torch.compile(model, **named), torch.compile(model, mode=mode)


def compiled(model, mode):
    return torch.compile(model, mode=mode)


def all_of(models):
    return [compiled(one, "default" if IS_ROCM else "reduce-overhead") for one in models]


class Generator:
    def __init__(self, model, options={"mode": "default" if IS_ROCM else "reduce-overhead", "fullgraph": True}):
        self.options = options
        self.forward = torch.compile(model.forward, **self.options)
