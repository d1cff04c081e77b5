"""Forwards that branch on shapes, take objects, and draw random numbers by function."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.fx.forwards import RewrittenForward
from kernel_pytorch.models.fx.live_values import ALL, FREE, RANKS
from kernel_pytorch.models.fx.trace import Untraceable, trace
from kernel_pytorch.models.rewrites import attention

TENSOR = ("tuple", ("tuple", ("tensor",)), ("dict",))


class Branches(nn.Module):
    """Attention by hand, with a mask only where there is more than one token."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.angles = torch.linspace(0.0, 1.0, 16)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (layer(x * self.angles).view(*x.shape[:-1], 2, -1).transpose(1, 2) for layer in self.layers)
        scores = q @ k.transpose(-2, -1)
        if x.shape[1] > 1 and x.dtype != torch.float16:
            scores = scores + torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
        return (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(*x.shape)


def test_a_branch_on_the_shape_is_taken_as_on_the_example_and_for_that_shape_only() -> None:
    model, x, one = Branches().eval(), torch.randn(2, 5, 16), torch.randn(2, 1, 16)
    with torch.no_grad():
        expected, other = model(x), model(one)
        AMDOptimizer(rewrites=[attention.REWRITE]).optimize(model, level="balanced", example_inputs=(x,))
        forward = model.__dict__["forward"]
        assert isinstance(forward, RewrittenForward)
        [variant] = forward.variants
        assert variant.dependence == ALL and variant.fits(model, [x]) and not variant.fits(model, [one])
        assert torch.allclose(model(x), expected, atol=1e-6) and torch.allclose(model(one), other, atol=1e-6)


def test_what_a_graph_depends_on() -> None:
    class Ranks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(*x.shape[:-1], -1, 2)

    class Free(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            batch, length, _ = x.shape
            return x.view(batch, length, -1, 2)

    for module, dependence in ((Ranks(), RANKS), (Free(), FREE), (Branches(), ALL)):
        assert trace(module, TENSOR, [torch.randn(2, 3, 16)]).dependence == dependence


@pytest.mark.parametrize(
    "ask", [lambda x: bool(x.sum() > 0), lambda x: int(x.sum()), lambda x: range(x.long().max()), float]
)
def test_a_forward_that_reads_its_tensors_is_given_up(ask: Any) -> None:
    class Reads(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x if ask(x[0, 0]) else x + 1

    with pytest.raises(Untraceable):
        trace(Reads(), TENSOR, [torch.ones(2, 2)])


class FunctionalDropout(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (layer(x) for layer in self.layers)
        weights = functional.dropout(torch.softmax(q @ k.transpose(-2, -1), dim=-1), 0.5, self.training)
        return functional.dropout(weights @ v, 0.5, training=self.training)


def test_dropout_by_function_is_still_there_in_training() -> None:
    model, x = FunctionalDropout().train(), torch.randn(4, 8, 16)
    optimizer = AMDOptimizer()
    optimizer.optimize(model, level="balanced", example_inputs=(x,))
    applied = {item["name"]: item for item in optimizer.get_optimization_summary()["optimizations_applied"]}
    assert "dropout" in applied["attention"]["what"][0] and "forward" in model.__dict__
    dropped = (model(x) == 0).float().mean().item()
    assert 0.3 < dropped < 0.7
    assert not torch.equal(model(x), model(x))
