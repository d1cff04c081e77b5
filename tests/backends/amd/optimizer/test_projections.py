"""Sibling projections as one product: values, gradients, and every way the weights may come apart again."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.rewrites import projections
from kernel_pytorch.models.rewrites.joined_weights import joint_view

from .models import GatedMLP


def optimized(model: nn.Module, *example: torch.Tensor) -> tuple[int, str]:
    optimizer = AMDOptimizer(rewrites=[projections.REWRITE])
    optimizer.optimize(model, "balanced", example)
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_undone"] == []
    applied = sum(len(item["where"]) for item in summary["optimizations_applied"])
    return applied, "; ".join(item["reason"] for item in summary["optimizations_not_applied"])


def products(model: nn.Module, x: torch.Tensor) -> int:
    """How many matrix products a call takes."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile, torch.no_grad():
        model(x)
    return sum(item.count for item in profile.key_averages() if item.key in ("aten::mm", "aten::addmm"))


@pytest.mark.parametrize("bias", [False, True])
def test_fewer_products_same_values_and_gradients(bias: bool) -> None:
    torch.manual_seed(0)
    model, x = GatedMLP(bias=bias).double(), torch.randn(2, 3, 16, dtype=torch.float64, requires_grad=True)
    twin, y = copy.deepcopy(model), x.detach().clone().requires_grad_()
    assert products(model, x) == 3
    assert optimized(model, x)[0] == 1
    assert products(model, x) == 2
    assert joint_view([model.gate.weight, model.up.weight]) is not None
    torch.testing.assert_close(model(x), twin(y))
    model(x).square().sum().backward()
    twin(y).square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_second_derivatives() -> None:
    model, x = GatedMLP(bias=True).double(), torch.randn(2, 16, dtype=torch.float64, requires_grad=True)
    assert optimized(model, x)[0] == 1
    assert torch.autograd.gradcheck(model, (x,)) and torch.autograd.gradgradcheck(model, (x,))


def test_frozen_weights_get_no_gradient() -> None:
    model, x = GatedMLP(), torch.randn(2, 16)
    model.gate.weight.requires_grad_(False)
    assert optimized(model, x)[0] == 1
    model(x).sum().backward()
    assert model.gate.weight.grad is None and model.up.weight.grad is not None


@pytest.mark.parametrize("gradients", [False, True])
def test_autocast(gradients: bool) -> None:
    torch.manual_seed(0)
    model, x = GatedMLP(bias=True), torch.randn(4, 16)
    twin = copy.deepcopy(model)
    assert optimized(model, x)[0] == 1
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.set_grad_enabled(gradients):
        one, other = model(x), twin(x)
    assert one.dtype == other.dtype == torch.bfloat16
    torch.testing.assert_close(one, other, rtol=0.02, atol=0.02)
    if gradients:
        one.float().sum().backward()
        other.float().sum().backward()
        assert model.gate.weight.grad.dtype == torch.float32
        torch.testing.assert_close(model.gate.weight.grad, twin.gate.weight.grad, rtol=0.05, atol=0.05)


def test_an_optimizer_made_before_still_updates_the_model() -> None:
    model, x = GatedMLP(), torch.randn(2, 16)
    stepper = torch.optim.SGD(model.parameters(), lr=0.1)
    twin = copy.deepcopy(model)
    assert optimized(model, x)[0] == 1
    model(x).sum().backward()
    stepper.step()
    twin(x).sum().backward()
    torch.optim.SGD(twin.parameters(), lr=0.1).step()
    torch.testing.assert_close(model(x), twin(x))


def test_replaced_layers_and_hooks_are_called() -> None:
    class Doubled(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x)

    model, x = GatedMLP(), torch.randn(2, 16)
    assert optimized(model, x)[0] == 1
    calls: list[Any] = []
    handle = model.up.register_forward_hook(lambda *args: calls.append(args))
    model(x)
    assert len(calls) == 1
    handle.remove()
    before = model(x)
    up = Doubled(16, 24, bias=False)
    up.weight = model.up.weight
    model.up = up  # as adapter libraries do
    torch.testing.assert_close(model(x), 2 * before)


class Siblings(nn.Module):
    def __init__(self, left: nn.Linear, right: nn.Linear) -> None:
        super().__init__()
        self.left, self.right = left, right

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.left(x) + self.right(x)


def tied() -> Siblings:
    model = Siblings(nn.Linear(4, 4), nn.Linear(4, 4))
    model.right.weight = model.left.weight
    return model


def tied_by_storage() -> Siblings:
    model = Siblings(nn.Linear(4, 4), nn.Linear(4, 4))
    model.right.weight = nn.Parameter(model.left.weight.data)
    return model


def hooked() -> Siblings:
    model = Siblings(nn.Linear(4, 4), nn.Linear(4, 4))
    model.left.register_forward_hook(lambda *args: None)
    return model


def parametrized() -> Siblings:
    model = Siblings(nn.Linear(4, 4), nn.Linear(4, 4))
    nn.utils.parametrizations.weight_norm(model.left)
    nn.utils.parametrizations.weight_norm(model.right)
    return model


def test_layers_with_parametrized_weights_are_not_touched() -> None:
    model, x = parametrized(), torch.randn(2, 4)
    expected = model(x)
    assert optimized(model, x)[0] == 0 and torch.equal(model(x), expected)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (tied, "share a weight"),
        (tied_by_storage, "shares its storage"),
        (hooked, "hooks"),
    ],
)
def test_layers_that_cannot_be_joined(make: Any, reason: str) -> None:
    model, x = make(), torch.randn(2, 4)
    expected = model(x)
    count, reasons = optimized(model, x)
    assert count == 0 and reason in reasons and torch.equal(model(x), expected)
    with torch.no_grad():
        model.left.weight.add_(1.0)
    if make in (tied, tied_by_storage):
        assert torch.equal(model.left.weight, model.right.weight)


def test_undoing_separates_the_weights() -> None:
    from kernel_pytorch.models.rewrites.joint_linear import let_join, take_apart

    layers = nn.Linear(4, 3), nn.Linear(4, 5)
    before = [layer.weight.clone() for layer in layers]
    let_join(layers)
    assert joint_view([layer.weight for layer in layers]).shape == (8, 4)
    take_apart(layers)
    assert all(type(layer) is nn.Linear and "joint" not in layer.__dict__ for layer in layers)
    assert joint_view([layer.weight for layer in layers]) is None
    assert all(torch.equal(layer.weight, value) for layer, value in zip(layers, before, strict=True))
