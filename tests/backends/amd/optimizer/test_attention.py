"""Attention written by hand: every form that is known gives the same as before, every other is left alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.rewrites import attention

from .models import Attention


def optimized(model: nn.Module, *example: torch.Tensor) -> tuple[int, str]:
    """How many attentions were replaced, and the reasons of those that were not."""
    optimizer = AMDOptimizer(rewrites=[attention.REWRITE])
    optimizer.optimize(model, "balanced", example)
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_undone"] == []
    applied = sum(len(item["where"]) for item in summary["optimizations_applied"])
    return applied, "; ".join(item["reason"] for item in summary["optimizations_not_applied"])


def calls_of_sdpa(model: nn.Module, *example: torch.Tensor) -> list[dict[str, Any]]:
    from torch.overrides import TorchFunctionMode

    seen = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is nn.functional.scaled_dot_product_attention:
                seen.append(dict(kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Watch(), torch.no_grad():
        model(*example)
    return seen


@pytest.mark.parametrize("style", ["divide", "prescaled", "none", "buffer", "built"])
@pytest.mark.parametrize("with_mask", [False, True])
def test_known_forms_give_the_same(style: str, with_mask: bool) -> None:
    torch.manual_seed(0)
    model, x = Attention(style=style).double().eval(), torch.randn(2, 7, 16, dtype=torch.float64)
    example = (x, torch.randn(2, 1, 7, 7, dtype=torch.float64)) if with_mask else (x,)
    other = tuple(torch.randn_like(item) for item in example)
    with torch.no_grad():
        expected = model(*other)
        assert optimized(model, *example)[0] == 1
        torch.testing.assert_close(model(*other), expected, rtol=1e-9, atol=1e-10)
    assert len(calls_of_sdpa(model, *other)) == 1


@pytest.mark.parametrize(
    ("style", "reason"), [("small fill", "still counts"), ("late scale", "scaled after the mask was applied")]
)
def test_forms_that_are_something_else_are_left_alone(style: str, reason: str) -> None:
    model, x = Attention(style=style).eval(), torch.randn(2, 5, 16)
    expected = model(x)
    count, reasons = optimized(model, x)
    assert count == 0 and reason in reasons and torch.equal(model(x), expected)


class Raw(nn.Module):
    """Attention without projections; `form` picks the expression."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.temperature = nn.Parameter(torch.tensor(0.7))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        scores = q @ k.transpose(-2, -1)
        if self.form == "bmm":
            return torch.bmm(self.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.3), v)
        if self.form == "weights too":
            weights = (scores * 0.3).softmax(-1)
            return weights @ v, weights
        if self.form == "learned scale":
            return (scores * self.temperature).softmax(-1) @ v
        if self.form == "other axis":
            return scores.softmax(-2) @ v
        if self.form == "shared keys":
            return torch.softmax(q @ k[:, :1].transpose(-2, -1), -1) @ v
        if self.form == "in place":
            scores = scores.mul_(0.3)
            return scores.softmax(dim=-1) @ v
        if self.form == "masked rows":
            hidden = torch.zeros(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device)
            return (scores.masked_fill(hidden.logical_not(), -1e9)).softmax(-1) @ v
        raise AssertionError(self.form)


@pytest.mark.parametrize(
    ("form", "axes", "count"),
    [
        ("bmm", 3, 1),
        ("in place", 4, 1),
        ("masked rows", 4, 1),
        ("weights too", 4, 0),
        ("learned scale", 4, 0),
        ("other axis", 4, 0),
        ("shared keys", 4, 0),
    ],
)
def test_expressions(form: str, axes: int, count: int) -> None:
    torch.manual_seed(1)
    shape = (3, 2, 5, 8)[4 - axes :] if axes == 4 else (6, 5, 8)
    example = tuple(torch.randn(shape) for _ in range(3))
    model = Raw(form).eval()
    with torch.no_grad():
        expected = model(*example)
        assert optimized(model, *example)[0] == count
        torch.testing.assert_close(model(*example), expected)


def test_dropout_is_taken_over_and_follows_the_mode_of_its_module() -> None:
    model, x = Attention(dropout=0.25).train(), torch.randn(2, 5, 16)
    assert optimized(model, x)[0] == 1
    assert calls_of_sdpa(model, x)[0]["dropout_p"] == 0.25
    model.drop.p = 0.5
    assert calls_of_sdpa(model, x)[0]["dropout_p"] == 0.5
    model.drop.eval()
    assert calls_of_sdpa(model, x)[0]["dropout_p"] == 0.0


def test_dropout_keeps_its_rate_and_its_mean() -> None:
    torch.manual_seed(0)
    model, x = Attention(dropout=0.5).train(), torch.randn(1, 4, 16)
    assert optimized(model, x)[0] == 1
    with torch.no_grad():
        mean = torch.stack([model(x) for _ in range(3000)]).mean(0)
        model.drop.p = 0.0
        torch.testing.assert_close(mean, model(x), rtol=0.1, atol=0.03)


def test_gradients_are_those_of_the_original() -> None:
    import copy

    torch.manual_seed(0)
    model, x = Attention(style="buffer").double().train(), torch.randn(2, 5, 16, dtype=torch.float64)
    twin = copy.deepcopy(model)
    assert optimized(model, x)[0] == 1
    for item in (model, twin):
        item(x).square().sum().backward()
    for (name, one), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-8, atol=1e-9, msg=name)


def test_a_fully_masked_row_keeps_its_nan_by_being_left_alone() -> None:
    model, x = Attention().eval(), torch.randn(2, 5, 16)
    mask = torch.zeros(5, 5)
    mask[2] = float("-inf")
    expected = model(x, mask)
    optimizer = AMDOptimizer(rewrites=[attention.REWRITE])
    optimizer.optimize(model, "balanced", (x, mask))
    undone = optimizer.get_optimization_summary()["optimizations_undone"]
    assert expected.isnan().any() and len(undone) == 1 and "NaN" in undone[0]["reason"]
    torch.testing.assert_close(model(x, mask), expected, equal_nan=True)
