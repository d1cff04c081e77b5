"""Small models, rungs made for one purpose, and a measurement whose verdict the test decides."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from kernel_pytorch.models.clock.in_turns import Comparison
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.bench.target import Target
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, WrapRung


class Block(nn.Module):
    """Pre-norm with a residual, as in most models."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    """Two blocks and a head."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class FakeMeasure:
    """Calls both once, as a measurement does, and says what the test wants said of the candidate's name."""

    def __init__(self, ratios: dict[str, float] | None = None, default: float = 0.5) -> None:
        self.ratios, self.default = ratios or {}, default
        self.seen: list[tuple[str, str]] = []
        self.seconds: list[float] = []

    def __call__(self, before: Target, after: Target, seconds: float) -> Comparison:
        before.call(*before.arguments, **before.keywords)
        after.call(*after.arguments, **after.keywords)
        self.seen.append((before.name, after.name))
        self.seconds.append(seconds)
        ratio = self.ratios.get(after.name, self.default)
        verdict = "faster" if ratio < 0.99 else "slower" if ratio > 1.01 else "same"
        return Comparison(8.0, 8.0 * ratio, ratio, ratio - 0.01, ratio + 0.01, verdict, 10)


def shallow(model: nn.Module) -> nn.Module:
    """New module objects over the same parameters."""
    twin = copy.copy(model)
    twin._modules = {name: shallow(child) if child is not None else None for name, child in model._modules.items()}
    return twin


def with_forward(model: nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> nn.Module:
    """A new tree whose outputs are changed."""

    class Changed(type(model)):  # type: ignore[misc]
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return change(super().forward(*args, **kwargs))

    twin = shallow(model)
    twin.__class__ = Changed
    return twin


def model_rung(name: str, apply: Callable[[nn.Module, Inputs, Options], nn.Module], **more: Any) -> ModelRung:
    return ModelRung(name, more.pop("level", 3), f"the rung {name}", lambda m, i: "everything", apply, **more)


def wrap_rung(name: str, wrap: Callable[[Any, Inputs, Options], Any], slot: str = "compile", **more: Any) -> WrapRung:
    return WrapRung(name, more.pop("level", 2), f"the rung {name}", slot, lambda m, i: "everything", wrap, **more)
