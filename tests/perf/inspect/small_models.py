"""Models a test inspects: small enough for the emulator."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Broken(nn.Module):
    """Two graphs, a library product, a fused pointwise kernel in each half."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 32))
        self.table = torch.linspace(0, 1, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (x @ self.weight).relu() + self.table
        torch._dynamo.graph_break()
        return y * 2 - 1


def broken() -> tuple[nn.Module, tuple[Any, ...]]:
    """The model and its input."""
    return Broken(), (torch.randn(4, 32),)


class Large(nn.Module):
    """40 GB of weights, in half precision, that nobody allocates."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(65536, 65536) for _ in range(5)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x))
        return x


def large() -> tuple[nn.Module, tuple[Any, ...]]:
    """The model and its input."""
    return Large().half(), (torch.randn(8, 65536).half(),)


def with_rates() -> tuple[nn.Module, tuple[Any, ...]]:
    """A constructor that reads the numbers of a short table, as ConvNeXt and Swin do for their drop rates."""
    rates = [one.item() for one in torch.linspace(0, 0.1, 4)]
    net = nn.Sequential(nn.Linear(32, 32), nn.Dropout(rates[-1]), nn.Linear(32, 32), nn.GELU())
    net.register_buffer("places", torch.arange(32) * 2)
    nn.init.trunc_normal_(net[0].weight, std=0.02)
    return net.eval(), (torch.randn(4, 32),)


def reads_weights() -> tuple[nn.Module, tuple[Any, ...]]:
    """A constructor that reads a weight, which is not there."""
    net = nn.Linear(32, 32)
    print(net.weight.sum().item())
    return net, (torch.randn(4, 32),)


def wrong() -> int:
    """Returns nothing that can be inspected."""
    return 3
